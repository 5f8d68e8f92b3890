/**
 * Measures the cost of the usage stream: replaces the function library in the bench's Redis by one
 * without the line that writes an entry, and restores it later. The services do not notice.
 */
import { readFileSync } from "node:fs";
import path from "node:path";

import { Redis } from "ioredis";

const LIBRARY = path.resolve(import.meta.dirname, "../../libs/admission/src/redis/kapi.lua");
const WRITES_ENTRY = /^ *redis\.call\('XADD', usage.*$/m;

export interface UsageStream {
  /**
   * Switches the writing of entries from the next call on. Charges without an entry never reach the
   * ledger.
   */
  set(isOn: boolean): Promise<void>;
  close(): void;
}

/** Switches the usage stream of the Redis at `url`. */
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
