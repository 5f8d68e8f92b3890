import type { DecodeFailure } from "@kapi/contracts/codec";
import type { Clock } from "@kapi/kernel";
import { counter, type Logger } from "@kapi/runtime";

import { ReportLimit } from "./report-limit.ts";

/** Maximum number of log lines per kind of record and reason in a minute. */
const REPORTS_PER_MINUTE = 10;

const unreadable = counter(
  "metrics.records.unreadable",
  "Records of `metrics.samples` and `metrics.latest` whose value could not be decoded, by `record` (sample, checkpoint, marker) and `reason` (not_json, malformed, not_cents)",
  "{record}",
);

/**
 * Counts records of the service's own topics that it cannot decode, and logs a few. The caller
 * decides how to continue.
 */
export class UnreadableRecords {
  readonly #limit: ReportLimit;
  readonly #logger: Logger;

  constructor({ clock, logger }: { readonly clock: Clock; readonly logger: Logger }) {
    this.#limit = new ReportLimit(REPORTS_PER_MINUTE, clock);
    this.#logger = logger;
  }

  /** Counts a record of this key that could not be decoded, and logs it within the limit. */
  report(record: "sample" | "checkpoint" | "marker", key: string, { reason, fault }: DecodeFailure): void {
    unreadable.add(1, { record, reason });
    if (this.#limit.allows(`${record} ${reason}`)) {
      this.#logger.warn({ record, key, reason, fault }, "a record cannot be decoded");
    }
  }
}
