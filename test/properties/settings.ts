import type { Parameters } from "fast-check";

/** The seed of the run to repeat; a failure prints its seed. */
const SEED_VARIABLE = "PROPERTY_SEED";

/**
 * Runs a property `numRuns` times on real servers, and stops at the first failure. The failure
 * prints its seed and case. The case is not shrunk: shrinking needs more runs than a test has time
 * for.
 */
export function bounded<T>(numRuns: number): Parameters<T> {
  const seed = process.env[SEED_VARIABLE];
  return { numRuns, endOnFailure: true, ...(seed === undefined ? {} : { seed: Number(seed) }) };
}
