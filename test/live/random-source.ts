import { uniformFloat64 } from "pure-rand/distribution/uniformFloat64";
import { mersenne } from "pure-rand/generator/mersenne";

/** Seeded random choices. Each part of a test gets its own stream from `fork`. */
export class RandomSource {
  readonly #generator: ReturnType<typeof mersenne>;

  constructor(seed: number) {
    // For small seeds, the other generators of pure-rand start with similar numbers.
    this.#generator = mersenne(seed);
  }

  /** A number from 0 (inclusive) to 1 (exclusive). */
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

  /** Returns one of the items; throws if there are none. */
  pick<T>(items: readonly T[]): T {
    const item = items[this.whole(0, items.length - 1)];
    if (item === undefined) throw new RangeError("nothing to choose from");
    return item;
  }

  /** A random interval, exponentially distributed with this mean. */
  exponential(mean: number): number {
    return -Math.log(1 - this.next()) * mean;
  }

  /** Returns a new stream, seeded from this stream. */
  fork(): RandomSource {
    return new RandomSource(Math.floor(this.next() * 4_294_967_296));
  }
}
