/**
 * A switch that turns the usage stream off, to measure its cost. The switch replaces the function
 * library in Redis with one that writes no entries for charges, refunds and the first reservation
 * of a command. Turning the stream on restores the library. Services do not notice the change.
 */
import { readFileSync } from "node:fs";
import path from "node:path";

import { Redis } from "ioredis";

const LIBRARY = path.resolve(import.meta.dirname, "../../libs/admission/src/redis/kapi.lua");
const WRITES_ENTRY = /^ *redis\.call\('XADD', usage.*$/m;

/** A switch for the usage stream of one Redis. */
export interface UsageStream {
  /**
   * Turns entries on or off, from the next call on. Charges and refunds without an entry never
   * reach the ledger.
   */
  set(isOn: boolean): Promise<void>;
  close(): void;
}

/** Returns a switch for the usage stream of the Redis at `url`. */
export function usageStreamOf(url: string): UsageStream {
  const redis = new Redis(url);
  const whole = readFileSync(LIBRARY, "utf8");
  const without = whole.replace(WRITES_ENTRY, "");
  if (without === whole) throw new Error(`no line of ${LIBRARY} writes a usage entry`);
  return {
    set: async (isOn) => {
      await redis.function("LOAD", "REPLACE", isOn ? whole : without);
    },
    close: () => redis.disconnect(),
  };
}
