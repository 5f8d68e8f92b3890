/**
 * The connections to one service. A connection can be dead without having been closed, and its
 * neighbours with it: after a call that got no answer in time all of them are replaced, so that
 * only calls that were under way then wait in vain. Calls on the earlier connections that are slow,
 * and not dead, end as they would have.
 */
import type { SecureContext } from "node:tls";

import { Pool } from "undici";

/** How long calls under way may go on after the stop, in milliseconds. */
const CLOSE_TIMEOUT_MS = 5_000;

export interface ConnectionOptions {
  readonly origin: string;
  readonly connections: number;
  readonly connectTimeoutMs: number;
  readonly keepAliveMs: number;
  /**
   * Has the authorities that may have signed the certificate; those that Node knows where it is
   * undefined.
   */
  readonly secureContext: SecureContext | undefined;
}

export class Connections {
  readonly #options: ConnectionOptions;
  #current: Pool;
  /** Replaced ones with calls under way. */
  readonly #replaced = new Set<Pool>();

  constructor(options: ConnectionOptions) {
    this.#options = options;
    this.#current = this.#open();
  }

  /** Those for new calls. */
  get current(): Pool {
    return this.#current;
  }

  /** A call that was sent over `pool` got no answer in time. */
  replace(pool: Pool): void {
    if (pool !== this.#current) return;
    this.#replaced.add(pool);
    const forget = (): boolean => this.#replaced.delete(pool);
    void pool.close().then(forget, forget);
    this.#current = this.#open();
  }

  /** Lets calls under way finish within {@link CLOSE_TIMEOUT_MS}, then ends them. */
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
