import type { Logger } from "@kapi/runtime";
import type { Redis, RedisCommander } from "ioredis";

/** What `createRedis` needs. */
export interface RedisOptions {
  /**
   * `redis://` or `rediss://` (encrypted), with user and password where needed; of a cluster, one
   * or several of its nodes.
   */
  readonly url: string | readonly string[];
  /** Whether the address is that of a Redis Cluster. */
  readonly cluster?: boolean;
  /**
   * PEM: for `rediss://`, who must have signed the server's certificate; by default the authorities
   * that Node knows.
   */
  readonly ca?: string;
  /**
   * Sources (Lua) of the function libraries that {@link RedisConnection.call} calls. Each is loaded
   * at the start, and again where a call finds its function missing.
   */
  readonly functionLibraries: readonly string[];
  /** Shown in `CLIENT LIST`. */
  readonly clientName: string;
  readonly logger: Logger;
  /** Longest wait for one reply, 2 s unless told. */
  readonly commandTimeoutMs?: number;
}

/**
 * A connection whose commands are pipelined by themselves, and whose servers have the function
 * libraries.
 */
export interface RedisConnection {
  /**
   * Calls a function of the libraries; loads them again where Redis has lost them. Rejects when
   * Redis is away.
   */
  readonly call: (name: string, keys: readonly string[], args: readonly (string | number)[]) => Promise<unknown>;
  /** Plain commands; in a cluster each goes to the node that has its key. */
  readonly commands: RedisCommander<{ type: "default"; mapping: "resp2" }>;
  /** A client for each master; without a cluster, the single server. */
  readonly masters: () => readonly Pick<Redis, "time">[];
  /** Whether the connection is usable now; for health checks. Null, or what is wrong. */
  readonly check: () => string | null;
}
