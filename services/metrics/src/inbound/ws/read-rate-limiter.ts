import type { Clock } from "@kapi/kernel";

const SECOND_MS = 1_000;

/**
 * Limits how fast one socket is read (decisions, 10.5). A burst of `perSecond` messages is read
 * without a pause. After that, reading is paused for the time that the excess messages take at this
 * rate. No message is dropped.
 */
export class ReadRateLimiter {
  readonly #perSecond: number;
  readonly #clock: Clock;
  /** Number of messages that may be read now; negative: the excess. */
  #credit: number;
  #atMs: number;

  constructor(perSecond: number, clock: Clock) {
    this.#perSecond = perSecond;
    this.#clock = clock;
    this.#credit = perSecond;
    this.#atMs = clock.nowMs();
  }

  /** Counts one message; returns for how many milliseconds to pause reading. */
  countMessage(): number {
    const nowMs = this.#clock.nowMs();
    this.#credit = Math.min(this.#perSecond, this.#credit + ((nowMs - this.#atMs) * this.#perSecond) / SECOND_MS) - 1;
    this.#atMs = nowMs;
    return this.#credit >= 0 ? 0 : Math.ceil((-this.#credit * SECOND_MS) / this.#perSecond);
  }
}
