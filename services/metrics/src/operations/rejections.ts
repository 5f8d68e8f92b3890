import type { Clock } from "@kapi/kernel";
import { counter, type Logger } from "@kapi/runtime";

import type { RejectedValuationSink } from "../domain/ports.ts";
import { DUPLICATE, type Rejection } from "../domain/rejection.ts";
import { offsetOf } from "../domain/topic-position.ts";
import { ReportLimit } from "./report-limit.ts";

const rejected = counter("metrics.valuations.rejected", "Valuations that are not used, by `reason`", "{valuation}");

/** The dependencies of {@link Rejections}. */
export interface RejectionsOptions {
  readonly sink: RejectedValuationSink;
  /**
   * Maximum number of rejected valuations of each reason that are logged and become dead letters in
   * a minute; further ones are only counted.
   */
  readonly samplesPerMinute: number;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * Counts rejected valuations. Only a few of each reason become log lines and dead letters, because
 * a faulty trading server may send many. Duplicates are only counted.
 */
export class Rejections {
  readonly #options: RejectionsOptions;
  readonly #limit: ReportLimit;

  constructor(options: RejectionsOptions) {
    this.#options = options;
    this.#limit = new ReportLimit(options.samplesPerMinute, options.clock);
  }

  /** Rejects `valuations` valuations of one key; `record` is the first of them. */
  reject(
    partition: number,
    record: { readonly key: string; readonly value: Buffer | null; readonly offset: bigint },
    rejection: Rejection,
    valuations = 1,
  ): void {
    const { reason, fault } = rejection;
    rejected.add(valuations, { reason });
    if (reason === DUPLICATE.reason || !this.#limit.allows(reason)) return;
    const { sink, logger } = this.#options;
    const { key } = record;
    const offset = offsetOf(record.offset).toString();
    logger.warn({ reason, fault, key, partition, offset }, "a valuation was rejected");
    sink.write(partition, record, fault).catch((error: unknown) => {
      logger.warn({ err: error }, "the dead letter of a rejected valuation was not published");
    });
  }
}
