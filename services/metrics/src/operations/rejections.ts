import type { Clock } from "@kapi/kernel";
import { counter, type Logger } from "@kapi/runtime";

import type { RejectedValuationSink } from "../domain/ports.ts";
import { REPEATED, type Rejection, type RejectionReason } from "../domain/rejection.ts";

const MINUTE_MS = 60_000;

const rejected = counter("metrics.valuations.rejected", "Valuations that are not used, by `reason`", "{valuation}");

export interface RejectionsOptions {
  readonly sink: RejectedValuationSink;
  /** Rejected valuations of each reason that go to the log and the dead letters, at most; the others are only counted. */
  readonly samplesPerMinute: number;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Counts rejected valuations, and reports a few of each reason: a faulty trading server sends them at full rate. */
export class Rejections {
  readonly #options: RejectionsOptions;
  readonly #reported = new Map<RejectionReason, number>();
  #minuteMs = 0;

  constructor(options: RejectionsOptions) {
    this.#options = options;
  }

  /** `valuations` of a key are not used; `record` is the first of them. */
  reject(
    partition: number,
    record: { readonly key: string; readonly value: Buffer | null; readonly offset: bigint },
    rejection: Rejection,
    valuations = 1,
  ): void {
    const { reason, fault } = rejection;
    rejected.add(valuations, { reason });
    if (reason === REPEATED.reason || !this.#mayReport(reason)) return;
    const { sink, logger } = this.#options;
    const { key, offset } = record;
    logger.warn({ reason, fault, key, partition, offset: offset.toString() }, "a valuation was rejected");
    sink.write(partition, record, fault).catch((error: unknown) => {
      logger.warn({ err: error }, "the dead letter of a rejected valuation was not published");
    });
  }

  #mayReport(reason: RejectionReason): boolean {
    const { clock, samplesPerMinute } = this.#options;
    const minuteMs = Math.floor(clock.nowMs() / MINUTE_MS) * MINUTE_MS;
    if (minuteMs !== this.#minuteMs) this.#reported.clear();
    this.#minuteMs = minuteMs;
    const reported = this.#reported.get(reason) ?? 0;
    this.#reported.set(reason, reported + 1);
    return reported < samplesPerMinute;
  }
}
