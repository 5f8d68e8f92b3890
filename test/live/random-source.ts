import { uniformFloat64 } from "pure-rand/distribution/uniformFloat64";
import { mersenne } from "pure-rand/generator/mersenne";

/** Seeded random choices; each user forks its own stream. */
export class RandomSource {
  readonly #generator: ReturnType<typeof mersenne>;

  constructor(seed: number) {
    // The other generators of pure-rand start with similar numbers for small seeds, as forks would.
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

  /** Returns true with this probability. */
  happens(probability: number): boolean {
    return this.next() < probability;
  }

  pick<T>(items: readonly T[]): T {
    const item = items[this.whole(0, items.length - 1)];
    if (item === undefined) throw new RangeError("nothing to choose from");
    return item;
  }

  /** Random intervals with the mean `mean`. */
  exponential(mean: number): number {
    return -Math.log(1 - this.next()) * mean;
  }

  /** Another stream, derived from this one. */
  fork(): RandomSource {
    return new RandomSource(Math.floor(this.next() * 4_294_967_296));
  }
}
