import type { Parameters } from "fast-check";

/** Names the seed of a run that is to be repeated; a failure prints it. */
const SEED_VARIABLE = "PROPERTY_SEED";

/**
 * How a property is run on real servers: `numRuns` times, and no further after a failure, whose
 * seed and case are printed. Making the case smaller would need many more runs than the time of a
 * test has.
 */
export function bounded<T>(numRuns: number): Parameters<T> {
  const seed = process.env[SEED_VARIABLE];
  return { numRuns, endOnFailure: true, ...(seed === undefined ? {} : { seed: Number(seed) }) };
}
