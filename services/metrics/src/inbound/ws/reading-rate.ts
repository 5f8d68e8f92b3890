import type { Clock } from "@kapi/kernel";

const SECOND_MS = 1_000;

/**
 * How fast one socket is read (decisions, 10.5): above its rate it is paused for as long as what it
 * sent already would have taken. Nothing is dropped: what the network delivered in one piece is
 * handled, and the debt is paid in time.
 */
export class ReadingRate {
  readonly #perSecond: number;
  readonly #clock: Clock;
  #credit: number;
  #atMs: number;

  constructor(perSecond: number, clock: Clock) {
    this.#perSecond = perSecond;
    this.#clock = clock;
    this.#credit = perSecond;
    this.#atMs = clock.nowMs();
  }

  /** Counts one message; for how many milliseconds nothing more should be read, 0 if it may be. */
  take(): number {
    const nowMs = this.#clock.nowMs();
    this.#credit = Math.min(this.#perSecond, this.#credit + ((nowMs - this.#atMs) * this.#perSecond) / SECOND_MS) - 1;
    this.#atMs = nowMs;
    return this.#credit >= 0 ? 0 : Math.ceil((-this.#credit * SECOND_MS) / this.#perSecond);
  }
}
