/**
 * Detects whether the server answers, even while no statement runs. A connection can be dead
 * without being closed (a frozen proxy, a host without network); its next statement would wait for
 * the whole deadline.
 *
 * After a second without an answer, this class sends `select 1`. All connections become suspect if
 * `select 1` fails, if a statement loses its connection, or if the server rejects writes. A
 * connection that has not answered since then is closed before its next use.
 */
import type { Pool, PoolClient } from "pg";

/** Time without an answer after which the server is asked. */
const PING_AFTER_MS = 1_000;
/** Timeout of `select 1`. With an idle connection, a dead server is detected within 4 s. */
const PING_DEADLINE_MS = 2_000;

/** pg's types do not know the deadline of a single statement. */
const PING = { text: "select 1", query_timeout: PING_DEADLINE_MS };

/**
 * Watches the connections of one pool. The pool reports every answer and every lost connection to
 * this class.
 */
export class Pulse {
  readonly #pool: Pool;
  readonly #timer: NodeJS.Timeout;
  /** When each connection last answered. */
  readonly #answeredMs = new WeakMap<PoolClient, number>();
  #lastAnswerMs = performance.now();
  /** A connection that last answered before this time is not used again. */
  #suspectBeforeMs = 0;
  #failure: string | null = null;
  #pinging = false;

  constructor(pool: Pool) {
    this.#pool = pool;
    pool.on("connect", (client) => this.#answeredMs.set(client, performance.now()));
    this.#timer = setInterval(() => void this.#ping(), PING_AFTER_MS);
  }

  /** Why the server cannot be used; null if it can. */
  check(): string | null {
    return this.#failure;
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** A connection of the pool that is not suspected to be dead. The caller returns it. */
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

  /** A connection was found dead, or its server rejects writes. */
  lost(): void {
    this.#suspectBeforeMs = performance.now();
  }

  async #ping(): Promise<void> {
    if (this.#pinging || performance.now() - this.#lastAnswerMs < PING_AFTER_MS) return;
    // Not needed while all connections are in use: their statements have their own deadlines.
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
    // Without a listener, an error of the connection would end the process.
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
