import { MIN_QUOTE_RETENTION_MS } from "@kapi/contracts";

import type { Quote } from "./prices.ts";

/**
 * How long a quote is kept after the next quote of the symbol, in milliseconds, within {@link
 * MAX_QUOTES_PER_SYMBOL}. This is longer than the contract requires.
 */
export const QUOTE_RETENTION_MS = 2 * MIN_QUOTE_RETENTION_MS;
/**
 * Maximum number of quotes of one symbol. A symbol has at most one quote a millisecond, so the
 * fastest market still keeps the 5 minutes of the contract.
 */
export const MAX_QUOTES_PER_SYMBOL = 300_000;
/** Number of quotes before the history grows for the first time. */
const FIRST_CAPACITY = 64;
/** Numbers of a quote: time, bid, ask. */
const NUMBERS_PER_QUOTE = 3;

/** A quote, and when it became the current one, in milliseconds since 1970. */
export interface TimedQuote extends Quote {
  readonly atMs: number;
}

/**
 * The last quotes of one symbol: a ring in time order, which grows up to its maximum and then drops
 * the oldest quote. It is in memory only. Of several quotes in one millisecond the last one counts.
 */
export class QuoteHistory {
  /** Index of the oldest quote. */
  #first = 0;
  #count = 0;
  #capacity = FIRST_CAPACITY;
  #numbers = new Float64Array(FIRST_CAPACITY * NUMBERS_PER_QUOTE);

  /**
   * Adds the newest quote. If the clock went back, the quotes of the repeated time are dropped.
   * Otherwise a time could have two quotes.
   */
  record(atMs: number, { bid, ask }: Quote): void {
    while (this.#count > 0 && this.#timeOf(this.#count - 1) >= atMs) this.#count -= 1;
    // A quote was current until the time of the next quote, so its age counts from that time.
    while (this.#count > 1 && this.#timeOf(1) <= atMs - QUOTE_RETENTION_MS) this.#dropOldest();
    if (this.#count === MAX_QUOTES_PER_SYMBOL) this.#dropOldest();
    if (this.#count === this.#capacity) this.#grow();
    this.#numbers.set([atMs, bid, ask], this.#offsetOf(this.#count));
    this.#count += 1;
  }

  /** The last quote at or before `atMs`; null if there is none, or it is no longer kept. */
  at(atMs: number): TimedQuote | null {
    let low = 0;
    let high = this.#count;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#timeOf(middle) <= atMs) low = middle + 1;
      else high = middle;
    }
    if (low === 0) return null;
    const offset = this.#offsetOf(low - 1);
    const [time = 0, bid = 0, ask = 0] = this.#numbers.subarray(offset, offset + NUMBERS_PER_QUOTE);
    return { atMs: time, bid, ask };
  }

  #dropOldest(): void {
    this.#first = (this.#first + 1) % this.#capacity;
    this.#count -= 1;
  }

  #grow(): void {
    const grown = Math.min(2 * this.#capacity, MAX_QUOTES_PER_SYMBOL);
    const numbers = new Float64Array(grown * NUMBERS_PER_QUOTE);
    const beginning = this.#first * NUMBERS_PER_QUOTE;
    numbers.set(this.#numbers.subarray(beginning));
    numbers.set(this.#numbers.subarray(0, beginning), this.#numbers.length - beginning);
    this.#numbers = numbers;
    this.#capacity = grown;
    this.#first = 0;
  }

  #timeOf(index: number): number {
    return this.#numbers[this.#offsetOf(index)] ?? 0;
  }

  /** `index` counts from the oldest quote. */
  #offsetOf(index: number): number {
    return ((this.#first + index) % this.#capacity) * NUMBERS_PER_QUOTE;
  }
}
