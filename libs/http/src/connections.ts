/**
 * The connections to one service. Connections can be dead without being closed. So if a call was
 * sent and its response is late, all connections are replaced: later calls use new connections.
 * Calls on the replaced connections continue, and complete if these connections are only slow.
 */
import type { SecureContext } from "node:tls";

import { Pool } from "undici";

/** Time after the stop in which running calls may end, in milliseconds. */
const CLOSE_TIMEOUT_MS = 5_000;

/** The address of one service, and the limits of the connections to it. */
interface ConnectionOptions {
  readonly origin: string;
  /** Maximum number of connections for new calls. Replaced connections are not counted. */
  readonly connections: number;
  readonly connectTimeoutMs: number;
  /** How long an idle connection is kept. */
  readonly keepAliveMs: number;
  /**
   * The certificate authorities that are trusted. If undefined, the authorities that Node trusts.
   */
  readonly secureContext: SecureContext | undefined;
}

/** The connections of one process to one service. */
export class Connections {
  readonly #options: ConnectionOptions;
  #current: Pool;
  /** Replaced pools with running calls. */
  readonly #replaced = new Set<Pool>();

  constructor(options: ConnectionOptions) {
    this.#options = options;
    this.#current = this.#open();
  }

  /** The pool for new calls. */
  get current(): Pool {
    return this.#current;
  }

  /** Replaces `pool` after a call on it got no response in time. */
  replace(pool: Pool): void {
    if (pool !== this.#current) return;
    this.#replaced.add(pool);
    const forget = (): boolean => this.#replaced.delete(pool);
    void pool.close().then(forget, forget);
    this.#current = this.#open();
  }

  /**
   * Lets the calls of the current pool finish within {@link CLOSE_TIMEOUT_MS}, then aborts all
   * calls, also those of replaced pools.
   */
  async close(): Promise<void> {
    const { promise: late, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, CLOSE_TIMEOUT_MS);
    await Promise.race([this.#current.close(), late]);
    clearTimeout(timer);
    const pools = [this.#current, ...this.#replaced];
    await Promise.all(pools.map((pool) => pool.destroy(new Error("the client was stopped"))));
  }

  #open(): Pool {
    const { origin, connections, connectTimeoutMs, keepAliveMs, secureContext } = this.#options;
    return new Pool(origin, {
      connections,
      pipelining: 1,
      keepAliveTimeout: keepAliveMs,
      connect: { timeout: connectTimeoutMs, ...(secureContext === undefined ? {} : { secureContext }) },
    });
  }
}
