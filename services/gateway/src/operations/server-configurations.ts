import type { Server } from "@kapi/contracts";
import type { Clock } from "@kapi/kernel";
import { LRUCache } from "lru-cache";

/** How old a remembered configuration may be when it is used. */
export const CONFIGURATION_TTL_MS = 1_000;
/** From this age on, its use starts a refresh in the background. */
const REFRESH_AFTER_MS = CONFIGURATION_TTL_MS / 2;
/** Most servers remembered; the one asked for longest ago gives way. */
const MAX_SERVERS = 10_000;

/**
 * What servers support, for checks before a command is queued; the worker that carries it out
 * checks again.
 */
export interface ServerConfigurations {
  /**
   * Whether the server supports `leverage`. A no is never from memory: it was asked for just now.
   */
  readonly supportsLeverage: (serverId: string, leverage: number) => Promise<boolean>;
  /**
   * Makes the memory forget a server, after its configuration was changed; what is being asked for
   * is not kept either.
   */
  readonly forget: (serverId: string) => void;
}

interface Remembered {
  readonly supported: ReadonlySet<number>;
  readonly atMs: number;
}

/** A question that the account service has not answered yet. */
interface Question {
  answer: Promise<Remembered> | undefined;
}

/**
 * Remembers each server's leverages for {@link CONFIGURATION_TTL_MS}; one `load` per server at a
 * time.
 */
export function createServerConfigurations(
  load: (serverId: string) => Promise<Server>,
  clock: Clock,
): ServerConfigurations {
  const remembered = new LRUCache<string, Remembered>({ max: MAX_SERVERS });
  const underWay = new Map<string, Question>();

  const loadNow = async (serverId: string, question: Question): Promise<Remembered> => {
    const atMs = clock.nowMs();
    try {
      const fresh = { supported: new Set((await load(serverId)).supportedLeverage), atMs };
      if (underWay.get(serverId) === question) remembered.set(serverId, fresh);
      return fresh;
    } finally {
      if (underWay.get(serverId) === question) underWay.delete(serverId);
    }
  };
  const refresh = (serverId: string): Promise<Remembered> => {
    const running = underWay.get(serverId);
    if (running?.answer !== undefined) return running.answer;
    const question: Question = { answer: undefined };
    underWay.set(serverId, question);
    question.answer = loadNow(serverId, question);
    return question.answer;
  };
  return {
    supportsLeverage: async (serverId, leverage) => {
      const known = remembered.get(serverId);
      const ageMs = known === undefined ? Infinity : clock.nowMs() - known.atMs;
      if (known?.supported.has(leverage) && ageMs < CONFIGURATION_TTL_MS) {
        // A refresh that fails changes nothing: the next use after the TTL waits for one, and gets
        // its error.
        if (ageMs >= REFRESH_AFTER_MS) refresh(serverId).catch(() => undefined);
        return true;
      }
      return (await refresh(serverId)).supported.has(leverage);
    },
    forget: (serverId) => {
      remembered.delete(serverId);
      underWay.delete(serverId);
    },
  };
}
