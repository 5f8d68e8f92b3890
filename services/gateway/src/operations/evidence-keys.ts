import type { Clock } from "@kapi/kernel";

import type { ReadEvidenceKeys } from "../domain/ports.ts";

/** Time to live of the cached keys, in milliseconds. */
export const KEYS_TTL_MS = 60_000;
/**
 * Time for which the cached keys are used after a failed load, in milliseconds. Without cached keys
 * the next call loads at once.
 */
export const KEYS_RETRY_MS = 5_000;

/**
 * Caches the public keys of evidence, so that requests without a management key cost the risk
 * service almost nothing. Concurrent calls share one load. While `load` fails, the cached keys are
 * used at any age (decisions, 20.3).
 * @returns the cached keys; fails only if no load has succeeded yet.
 */
export function createEvidenceKeysCache(load: ReadEvidenceKeys, clock: Clock): ReadEvidenceKeys {
  let cached: Buffer | null = null;
  let validUntilMs = 0;
  let running: Promise<Buffer> | null = null;

  const refresh = async (): Promise<Buffer> => {
    try {
      cached = await load();
      validUntilMs = clock.nowMs() + KEYS_TTL_MS;
      return cached;
    } catch (error) {
      if (cached === null) throw error;
      validUntilMs = clock.nowMs() + KEYS_RETRY_MS;
      return cached;
    } finally {
      running = null;
    }
  };
  return () => {
    if (cached !== null && clock.nowMs() < validUntilMs) return Promise.resolve(cached);
    running ??= refresh();
    return running;
  };
}
