import type { Logger } from "@kapi/runtime";
import type { Redis, RedisCommander } from "ioredis";

/** Options of `startRedis`. */
export interface RedisOptions {
  /**
   * `redis://` or `rediss://` (encrypted), with user and password where needed; of a cluster, one
   * or several of its nodes.
   */
  readonly url: string | readonly string[];
  /** Whether the address belongs to a Redis Cluster. */
  readonly cluster?: boolean;
  /**
   * PEM, for `rediss://`: certificate authorities of the server's certificate; by default those of
   * Node.
   */
  readonly ca?: string;
  /**
   * Sources (Lua) of the function libraries for {@link RedisConnection.call}. They are loaded at
   * the start, and again when a call finds its function missing.
   */
  readonly functionLibraries: readonly string[];
  /** Shown in `CLIENT LIST`. */
  readonly clientName: string;
  readonly logger: Logger;
  /** Maximum wait for one reply, in milliseconds. Default 2,000. */
  readonly commandTimeoutMs?: number;
}

/** A connection with automatic pipelining, to servers that have the function libraries. */
export interface RedisConnection {
  /**
   * Calls a function of the libraries. Loads the libraries again if Redis has lost them. Rejects if
   * Redis is unavailable or the function returns an error. The function may have run all the same,
   * unless `wasNotCarriedOut` returns true for the error.
   */
  readonly call: (name: string, keys: readonly string[], args: readonly (string | number)[]) => Promise<unknown>;
  /** Plain commands; in a cluster each goes to the node that has its key. */
  readonly commands: RedisCommander<{ type: "default"; mapping: "resp2" }>;
  /** A client for each master; without a cluster, the single server. */
  readonly masters: () => readonly Pick<Redis, "time">[];
  /** For health checks: null if the connection is usable, or the reason why not. */
  readonly check: () => string | null;
}
