const MAX_MS = 120_000;

/** A histogram of delays of samples, in whole milliseconds, in fixed memory. */
export class Delays {
  readonly #counts = new Uint32Array(MAX_MS + 1);
  #total = 0;
  #maxMs = 0;

  get total(): number {
    return this.#total;
  }

  get maxMs(): number {
    return this.#maxMs;
  }

  add(ms: number): void {
    const whole = Math.min(MAX_MS, Math.max(0, Math.round(ms)));
    this.#counts[whole] = (this.#counts[whole] ?? 0) + 1;
    this.#total += 1;
    this.#maxMs = Math.max(this.#maxMs, ms);
  }

  /**
   * Returns the percentile of the delays in milliseconds. `share` is from 0 to 1. Without samples,
   * the result is 0.
   */
  at(share: number): number {
    let left = Math.ceil(this.#total * share);
    for (const [ms, count] of this.#counts.entries()) {
      left -= count;
      if (left <= 0) return ms;
    }
    return MAX_MS;
  }

  toString(): string {
    return `p50 ${this.at(0.5)} ms, p99 ${this.at(0.99)} ms, max ${Math.round(this.maxMs)} ms, ${this.total} samples`;
  }
}
