import type { Minimum } from "./sample.ts";

/**
 * Maximum number of lows of one account. Above it the oldest two are merged to the lower equity.
 */
const MAX_LOWS = 128;

interface Low extends Minimum {
  readonly offset: number;
}

/**
 * The lowest equity since any offset of an account's latest valuations. It keeps only valuations
 * that are lower than all later ones, so the lowest since offset x is the first one after x.
 *
 * A writer needs this for any offset: if a foreign sample already includes some of its valuations,
 * the next sample's minimum is that of the rest.
 */
export class IntervalLows {
  readonly #lows: Low[] = [];

  /** Adds the next valuation. Of equal lows the earliest is kept. */
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

  /** The lowest valuation after `offset`; null if there is none. */
  lowestAfter(offset: number): Minimum | null {
    return this.#lows.find((low) => low.offset > offset) ?? null;
  }

  /** Forgets the valuations up to and including `offset`. */
  forgetUpTo(offset: number): void {
    const keep = this.#lows.findIndex((low) => low.offset > offset);
    this.#lows.splice(0, keep === -1 ? this.#lows.length : keep);
  }
}
