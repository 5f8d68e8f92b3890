import type { Parameters } from "fast-check";

/** The variable with the seed of the run to repeat; a failure prints its seed. */
const SEED_VARIABLE = "PROPERTY_SEED";

/**
 * Returns parameters with which fast-check runs a property `numRuns` times, and stops at the first
 * failure. The failure prints its seed and case. The case is not shrunk: shrinking needs more runs
 * than a test on real servers has time for.
 */
export function bounded<T>(numRuns: number): Parameters<T> {
  const seed = process.env[SEED_VARIABLE];
  return { numRuns, endOnFailure: true, ...(seed === undefined ? {} : { seed: Number(seed) }) };
}
