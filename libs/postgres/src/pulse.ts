/**
 * Whether the server answers, found out also while nobody asks it anything: a connection can be
 * dead without having been closed (a frozen proxy, a host that lost its network), and the one that
 * would use it next would wait for its whole deadline.
 *
 * A pool that has heard nothing for a second asks `select 1`. Where that fails, or any statement
 * finds its connection lost, all connections that last answered before are closed instead of being
 * used again.
 */
import type { Pool, PoolClient } from "pg";

/** After so long without an answer the server is asked for one. */
const PING_AFTER_MS = 1_000;
/**
 * How long that answer may take. With the time before it, a dead server is found out within 3 s.
 */
const PING_DEADLINE_MS = 2_000;

/** pg's types do not know the deadline of a single statement. */
const PING = { text: "select 1", query_timeout: PING_DEADLINE_MS };

export class Pulse {
  readonly #pool: Pool;
  readonly #timer: NodeJS.Timeout;
  /** When each connection last answered. */
  readonly #answeredMs = new WeakMap<PoolClient, number>();
  #lastAnswerMs = performance.now();
  /** Connections that have not answered since are not used again. */
  #suspectBeforeMs = 0;
  #failure: string | null = null;
  #pinging = false;

  constructor(pool: Pool) {
    this.#pool = pool;
    pool.on("connect", (client) => this.#answeredMs.set(client, performance.now()));
    this.#timer = setInterval(() => void this.#ping(), PING_AFTER_MS);
  }

  /** null, or why the server cannot be used. */
  check(): string | null {
    return this.#failure;
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** A connection of the pool; never one that may be dead. The caller gives it back. */
  async connect(): Promise<PoolClient> {
    for (;;) {
      const client = await this.#pool.connect();
      if ((this.#answeredMs.get(client) ?? 0) >= this.#suspectBeforeMs) return client;
      client.release(true);
    }
  }

  /** The server has answered on this connection. */
  answered(client: PoolClient): void {
    this.#lastAnswerMs = performance.now();
    this.#answeredMs.set(client, this.#lastAnswerMs);
    this.#failure = null;
  }

  /** A connection was found dead, or leads to a server that takes no writes. */
  lost(): void {
    this.#suspectBeforeMs = performance.now();
  }

  async #ping(): Promise<void> {
    if (this.#pinging || performance.now() - this.#lastAnswerMs < PING_AFTER_MS) return;
    // All are in use: those who use them find out by their own deadlines.
    const { idleCount, totalCount, options } = this.#pool;
    if (idleCount === 0 && totalCount >= options.max) return;
    this.#pinging = true;
    try {
      await this.#ask(await this.connect());
    } catch (error) {
      this.lost();
      this.#failure = `PostgreSQL does not answer: ${error instanceof Error ? error.message : String(error)}`;
    } finally {
      this.#pinging = false;
    }
  }

  async #ask(client: PoolClient): Promise<void> {
    // Without a listener, a connection that is reset while it is asked would end the process.
    const ignore = (): void => undefined;
    client.on("error", ignore);
    let isBroken = true;
    try {
      await client.query(PING);
      isBroken = false;
      this.answered(client);
    } finally {
      client.off("error", ignore);
      client.release(isBroken);
    }
  }
}
