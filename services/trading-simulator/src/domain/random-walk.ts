/** Prices and choices that a seed fixes: the same seed gives the same numbers on every machine. */

/**
 * State of a stream of random numbers: one unsigned 32-bit integer, so that it can be stored and
 * carried on.
 */
export interface RandomState {
  random: number;
}

/** The stream that `seed` and `name` name. */
export function randomState(seed: string, name: string): RandomState {
  let hash = 0x811c9dc5;
  for (const character of `${seed}/${name}`) {
    hash = Math.imul(hash ^ (character.codePointAt(0) ?? 0), 0x01000193) >>> 0;
  }
  return { random: hash };
}

/** The next number of the stream, uniform in [0, 1) (mulberry32). */
export function nextRandom(state: RandomState): number {
  state.random = (state.random + 0x6d2b79f5) >>> 0;
  let mixed = state.random;
  mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
  mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
  return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
}

/**
 * Part of its distance from the base price that the walk goes back in each step; keeps months of
 * ticks near it.
 */
const REVERSION = 1e-5;
/**
 * Scales the sum of four uniform numbers to a deviation of 1. Only + - * /, so that all machines
 * agree to the bit.
 */
const UNIT_DEVIATION = 1.7320508075688772;

/** The mid price after one step from `mid`. */
export function nextMid(state: RandomState, mid: number, basePrice: number, stepDeviation: number): number {
  const sum = nextRandom(state) + nextRandom(state) + nextRandom(state) + nextRandom(state);
  return mid + mid * stepDeviation * (sum - 2) * UNIT_DEVIATION + (basePrice - mid) * REVERSION;
}
