import type { Server } from "@kapi/contracts";
import type { Clock } from "@kapi/kernel";
import { LRUCache } from "lru-cache";

/** Time to live of a cached configuration, in milliseconds. */
export const CONFIGURATION_TTL_MS = 1_000;
/** Age from which a use starts a refresh in the background, in milliseconds. */
const REFRESH_AFTER_MS = CONFIGURATION_TTL_MS / 2;
/** Maximum number of cached servers; the least recently used one is evicted. */
const MAX_SERVERS = 10_000;

/**
 * Cache of the leverages of servers, for checks before a command is queued. The worker checks
 * again.
 */
export interface ServerConfigurations {
  /**
   * Whether the server supports `leverage`. `false` is never from the cache: this call starts a
   * load, or waits for the running one.
   */
  readonly supportsLeverage: (serverId: string, leverage: number) => Promise<boolean>;
  /**
   * Removes a server from the cache, after a change of its configuration. The result of a running
   * load is not cached either.
   */
  readonly forget: (serverId: string) => void;
}

interface CachedConfiguration {
  readonly supported: ReadonlySet<number>;
  readonly atMs: number;
}

/** A running load. Its identity shows whether `forget` was called meanwhile. */
interface Load {
  answer: Promise<CachedConfiguration> | undefined;
}

/**
 * Caches each server's leverages for {@link CONFIGURATION_TTL_MS}. Concurrent calls for a server
 * share one `load`. A call after `forget` does not share a load that began before.
 */
export function createServerConfigurations(
  load: (serverId: string) => Promise<Server>,
  clock: Clock,
): ServerConfigurations {
  const cache = new LRUCache<string, CachedConfiguration>({ max: MAX_SERVERS });
  const runningLoads = new Map<string, Load>();

  const loadAndCache = async (serverId: string, current: Load): Promise<CachedConfiguration> => {
    const atMs = clock.nowMs();
    try {
      const fresh = { supported: new Set((await load(serverId)).supportedLeverage), atMs };
      if (runningLoads.get(serverId) === current) cache.set(serverId, fresh);
      return fresh;
    } finally {
      if (runningLoads.get(serverId) === current) runningLoads.delete(serverId);
    }
  };
  const refresh = (serverId: string): Promise<CachedConfiguration> => {
    const running = runningLoads.get(serverId);
    if (running?.answer !== undefined) return running.answer;
    const current: Load = { answer: undefined };
    runningLoads.set(serverId, current);
    current.answer = loadAndCache(serverId, current);
    return current.answer;
  };
  return {
    supportsLeverage: async (serverId, leverage) => {
      const known = cache.get(serverId);
      const ageMs = known === undefined ? Infinity : clock.nowMs() - known.atMs;
      if (known?.supported.has(leverage) && ageMs < CONFIGURATION_TTL_MS) {
        // An error of this refresh is ignored: a use after the TTL loads again, and throws if that
        // load fails.
        if (ageMs >= REFRESH_AFTER_MS) refresh(serverId).catch(() => undefined);
        return true;
      }
      return (await refresh(serverId)).supported.has(leverage);
    },
    forget: (serverId) => {
      cache.delete(serverId);
      runningLoads.delete(serverId);
    },
  };
}
