/** Random numbers from a seed: equal on every machine. */

/** State of a random stream: an unsigned 32-bit integer, which can be stored. */
export interface RandomState {
  random: number;
}

/** The stream of this seed and name. */
export function randomState(seed: string, name: string): RandomState {
  let hash = 0x811c9dc5;
  for (const character of `${seed}/${name}`) {
    hash = Math.imul(hash ^ (character.codePointAt(0) ?? 0), 0x01000193) >>> 0;
  }
  return { random: hash };
}

/** Uniform in [0, 1) (mulberry32). */
export function nextRandom(state: RandomState): number {
  state.random = (state.random + 0x6d2b79f5) >>> 0;
  let mixed = state.random;
  mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
  mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
  return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
}

/**
 * Each step moves the price towards the base price by this fraction of their distance. So prices
 * stay near the base price for months.
 */
const REVERSION = 1e-5;
/**
 * Scales the sum of four uniform numbers to a standard deviation of 1. The walk calculates only
 * with + - * /, whose results are equal on all machines.
 */
const UNIT_DEVIATION = 1.7320508075688772;

/** The mid price after one step from `mid`. */
export function nextMid(state: RandomState, mid: number, basePrice: number, stepDeviation: number): number {
  const sum = nextRandom(state) + nextRandom(state) + nextRandom(state) + nextRandom(state);
  return mid + mid * stepDeviation * (sum - 2) * UNIT_DEVIATION + (basePrice - mid) * REVERSION;
}
