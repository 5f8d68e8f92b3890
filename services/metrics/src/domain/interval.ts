import type { Minimum } from "./sample.ts";

/**
 * Maximum number of lows of one account. Above this number the oldest two lows are merged: the
 * merged low has the lower equity and the higher offset.
 */
const MAX_LOWS = 128;

interface Low extends Minimum {
  readonly offset: number;
}

/**
 * The lowest equity of an account's latest valuations after any offset. A valuation is kept only
 * while no later valuation is lower. So the first kept valuation after an offset has the lowest
 * equity after that offset.
 *
 * A writer needs this for any offset: a foreign sample can include some of the writer's valuations.
 * Then the minimum of the next sample is the lowest equity of the remaining valuations.
 */
export class IntervalLows {
  readonly #lows: Low[] = [];

  /** Adds the next valuation. Of equal lows the earliest counts. */
  add(offset: number, equityMinor: number, measuredAt: string): void {
    for (let last = this.#lows.at(-1); last !== undefined && last.equityMinor > equityMinor; last = this.#lows.at(-1)) {
      this.#lows.pop();
    }
    this.#lows.push({ offset, equityMinor, measuredAt });
    if (this.#lows.length <= MAX_LOWS) return;
    const [first, second] = this.#lows;
    if (first === undefined || second === undefined) return;
    this.#lows.splice(0, 2, { ...first, offset: second.offset });
  }

  /**
   * The lowest equity after `offset`; null if no valuation after `offset` was added. If lows were
   * merged because of {@link MAX_LOWS}, the result can be the lower equity of an earlier valuation.
   */
  lowestAfter(offset: number): Minimum | null {
    return this.#lows.find((low) => low.offset > offset) ?? null;
  }

  /** Forgets the valuations up to and including `offset`. */
  forgetUpTo(offset: number): void {
    const keep = this.#lows.findIndex((low) => low.offset > offset);
    this.#lows.splice(0, keep === -1 ? this.#lows.length : keep);
  }
}
