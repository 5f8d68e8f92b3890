import type { Minimum } from "./sample.ts";

/**
 * Lows kept of one account's interval. More merge the oldest two, which keeps the lower equity for
 * both.
 */
const MAX_LOWS = 128;

interface Low extends Minimum {
  readonly offset: number;
}

/**
 * The lowest equity of any tail of an account's latest valuations, in little memory: it keeps only
 * the valuations that are lower than all after them. The lowest since offset x is then the first
 * one behind x.
 *
 * A writer needs tails, not only the whole: when the log refuses its sample because another one
 * took in a part of the same valuations, the next sample's minimum is that of the rest.
 */
export class IntervalLows {
  readonly #lows: Low[] = [];

  /** Takes in the next valuation. Of equal lows the earliest is kept. */
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

  /** The lowest of the valuations behind `offset`; null if there is none. */
  lowestAfter(offset: number): Minimum | null {
    return this.#lows.find((low) => low.offset > offset) ?? null;
  }

  /** Forgets the valuations up to and including `offset`. */
  forgetUpTo(offset: number): void {
    const keep = this.#lows.findIndex((low) => low.offset > offset);
    this.#lows.splice(0, keep === -1 ? this.#lows.length : keep);
  }
}
