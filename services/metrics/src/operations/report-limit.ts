import type { Clock } from "@kapi/kernel";

const MINUTE_MS = 60_000;

/** Limits the number of reports of each reason in a minute. */
export class ReportLimit {
  readonly #perMinute: number;
  readonly #clock: Clock;
  readonly #reported = new Map<string, number>();
  #minuteMs = 0;

  constructor(perMinute: number, clock: Clock) {
    this.#perMinute = perMinute;
    this.#clock = clock;
  }

  /** Counts a report of this reason; returns whether it is allowed. */
  allows(reason: string): boolean {
    const minuteMs = Math.floor(this.#clock.nowMs() / MINUTE_MS) * MINUTE_MS;
    if (minuteMs !== this.#minuteMs) this.#reported.clear();
    this.#minuteMs = minuteMs;
    const reported = this.#reported.get(reason) ?? 0;
    this.#reported.set(reason, reported + 1);
    return reported < this.#perMinute;
  }
}
