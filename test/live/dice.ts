import { uniformFloat64 } from "pure-rand/distribution/uniformFloat64";
import { mersenne } from "pure-rand/generator/mersenne";

/** Random choices that a seed fixes, each taker with a stream of its own. */
export class Dice {
  readonly #generator: ReturnType<typeof mersenne>;

  constructor(seed: number) {
    // The other generators of pure-rand begin alike for all small seeds, and so would forks.
    this.#generator = mersenne(seed);
  }

  /** From 0 to below 1. */
  next(): number {
    return uniformFloat64(this.#generator);
  }

  /** A whole number from `first` to `last`. */
  whole(first: number, last: number): number {
    return first + Math.floor(this.next() * (last - first + 1));
  }

  /** Whether something of this probability happens. */
  happens(probability: number): boolean {
    return this.next() < probability;
  }

  pick<T>(items: readonly T[]): T {
    const item = items[this.whole(0, items.length - 1)];
    if (item === undefined) throw new RangeError("nothing to choose from");
    return item;
  }

  /** Times between things that happen at random, `mean` on average. */
  exponential(mean: number): number {
    return -Math.log(1 - this.next()) * mean;
  }

  /** Another stream, fixed by this one. */
  fork(): Dice {
    return new Dice(Math.floor(this.next() * 4_294_967_296));
  }
}
