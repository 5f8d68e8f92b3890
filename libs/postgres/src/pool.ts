import { assert, delay } from "@kapi/kernel";
import { type Health, type Logger, observed, type Started } from "@kapi/runtime";
import { Pool, type PoolClient } from "pg";

import { breaksConnection, isConnectionLost, isOfFailedTransaction, isReadOnly } from "./errors.ts";
import { assertIdentifier } from "./identifier.ts";
import { Pulse } from "./pulse.ts";
import { clientOptions, type ServerOptions, unusable } from "./settings.ts";
import type { Statement } from "./statement.ts";
import { TYPES } from "./types.ts";

/**
 * A prepared statement keeps its plan. A plan that was made while a table was almost empty would
 * still read the whole table when the table has millions of rows. Every statement of a service
 * finds its rows by an index, at most some thousands of them, so other plans are disabled.
 */
const PLANS = ["jit=off", "enable_seqscan=off", "enable_hashjoin=off", "enable_mergejoin=off", "enable_bitmapscan=off"];
/**
 * For tables with many partitions, planning each call with its values costs more than the call
 * itself (see `genericPlans`).
 */
const GENERIC_PLANS = ["plan_cache_mode=force_generic_plan"];
const MAX_CONNECTIONS = 10;
const STATEMENT_TIMEOUT_MS = 4_000;
/** Maximum wait for a free or a new connection. */
const CHECKOUT_TIMEOUT_MS = 4_000;
/**
 * Below the 10 s session of a Kafka consumer. A process that is paused in a transaction loses its
 * row locks before another process takes over its partitions.
 */
const IDLE_IN_TRANSACTION_TIMEOUT_MS = 8_000;
/** A stream locks no rows, and its loop may work on a batch for a long time. */
const IDLE_STREAM_TIMEOUT_MS = 60_000;
/** An unused connection is closed after this time. A new one costs a sign-in and new plans. */
const IDLE_CONNECTION_MS = 60_000;
/** A dead server cancels nothing: the client gives up this long after the statement timeout. */
const ANSWER_MARGIN_MS = 1_000;
const STOP_DEADLINE_MS = 10_000;
/**
 * The cursor of a stream exists only in its transaction. It is a cursor of SQL, so the statement
 * timeout applies to each fetch, not to the whole loop.
 */
const CURSOR = "stream_rows";
const BEGIN_STREAM = `begin read only; set local idle_in_transaction_session_timeout = ${IDLE_STREAM_TIMEOUT_MS}`;

/** The schema that one pool uses, and the limits of its connections and statements. */
export interface PoolOptions extends ServerOptions {
  /** Unqualified names mean tables of this schema. */
  readonly schema: string;
  /** Name of the connections in `pg_stat_activity`. */
  readonly applicationName: string;
  /** Maximum number of connections. Default 10. */
  readonly max?: number;
  /** The server cancels a statement after this time, in milliseconds. Default 4,000. */
  readonly statementTimeoutMs?: number;
  /**
   * Each connection plans a statement once, without its values. Otherwise PostgreSQL plans each
   * call again if it expects a cheaper plan, for example because an array parameter is short. For
   * a table with 16 partitions, planning takes 0.6 ms of the 0.7 ms of a call.
   */
  readonly genericPlans?: boolean;
  readonly logger: Logger;
  /** If given, the process is not ready while the server does not answer. */
  readonly health?: Pick<Health, "readiness">;
}

/** Runs statements: a database (without a transaction) or a transaction. */
export interface Queryable {
  /** Runs `statement`; returns its rows. Rejects with the error of the server or connection. */
  query<Row>(statement: Statement<Row>, values: readonly unknown[]): Promise<Row[]>;
}

/**
 * Statements run in the order of their calls and are pipelined: independent statements share a
 * round trip.
 */
export interface Transaction extends Queryable {
  /** Runs a statement and ignores its rows. If the statement fails, the transaction rejects. */
  execute(statement: Statement<unknown>, values: readonly unknown[]): void;
}

/**
 * One schema, over a pool of connections. A statement outside of `transaction` is committed by
 * itself.
 */
export interface Database extends Queryable {
  /**
   * Runs `work` in a transaction: commits when `work` resolves, rolls back when `work` rejects. The
   * commit is pipelined after the last statement. If a statement fails, awaited or not, nothing is
   * committed and the error of the statement is thrown.
   */
  transaction<T>(work: (tx: Transaction) => Promise<T>): Promise<T>;
  /**
   * The rows of `statement` (a select), `batchRows` at a time, as of one moment. Holds one
   * connection until the loop ends. The statement timeout applies to each batch. The stream fails
   * if the loop pauses for a minute between two batches. Use it only in a process's own loops, not
   * for responses to callers: a slow caller would hold the connection.
   */
  stream<Row>(statement: Statement<Row>, values: readonly unknown[], batchRows: number): AsyncIterable<Row[]>;
}

/** Starts a pool and checks that the server answers. `stop` waits a limited time for open work. */
export async function startPool(options: PoolOptions): Promise<Started<Database>> {
  assertIdentifier(options.schema);
  const statementTimeoutMs = options.statementTimeoutMs ?? STATEMENT_TIMEOUT_MS;
  const pool = new Pool({
    ...clientOptions(options),
    application_name: options.applicationName,
    options: [`search_path=${options.schema}`, ...PLANS, ...(options.genericPlans === true ? GENERIC_PLANS : [])]
      .map((setting) => `-c ${setting}`)
      .join(" "),
    max: options.max ?? MAX_CONNECTIONS,
    connectionTimeoutMillis: CHECKOUT_TIMEOUT_MS,
    idleTimeoutMillis: IDLE_CONNECTION_MS,
    statement_timeout: statementTimeoutMs,
    query_timeout: statementTimeoutMs + ANSWER_MARGIN_MS,
    idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_TIMEOUT_MS,
    keepAlive: true,
    pipeline: true,
    types: TYPES,
  });
  pool.on("error", (error) => options.logger.warn({ error: error.message }, "an idle database connection was lost"));
  const pulse = new Pulse(pool);
  const database = new PoolDatabase(pulse);
  try {
    await database.ping();
  } catch (error) {
    pulse.stop();
    await pool.end();
    throw unusable(options, error);
  }
  options.health?.readiness("postgres", () => pulse.check());
  const attributes = { pool: options.applicationName };
  const endings = [
    observed("postgres.pool.waiting", "Callers that wait for a connection, by `pool`", "{caller}", () => [
      { value: pool.waitingCount, attributes },
    ]),
    observed(
      "postgres.pool.connections",
      "Connections of the pool, by `pool` and `state` (idle, used)",
      "{connection}",
      () => [
        { value: pool.idleCount, attributes: { ...attributes, state: "idle" } },
        { value: pool.totalCount - pool.idleCount, attributes: { ...attributes, state: "used" } },
      ],
    ),
  ];
  return {
    value: database,
    stop: async () => {
      for (const end of endings) end();
      pulse.stop();
      await Promise.race([pool.end(), delay(STOP_DEADLINE_MS)]);
    },
  };
}

class PoolDatabase implements Database {
  readonly #pulse: Pulse;

  constructor(pulse: Pulse) {
    this.#pulse = pulse;
  }

  async ping(): Promise<void> {
    await this.#lend((lent) => lent.client.query("select 1"));
  }

  query<Row>(statement: Statement<Row>, values: readonly unknown[]): Promise<Row[]> {
    return this.#lend(async (lent) => {
      try {
        return await run(lent.client, statement, values);
      } catch (error) {
        this.#note(error);
        lent.broken ||= breaksConnection(error);
        throw error;
      }
    });
  }

  transaction<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    return this.#lend(async (lent) => {
      const tx = new ClientTransaction(lent.client);
      try {
        const result = await work(tx);
        await tx.commit();
        return result;
      } catch (error) {
        const cause = tx.causeOf(error);
        this.#note(cause);
        lent.broken ||= isConnectionLost(cause) || isReadOnly(cause) || !(await tx.rollback()) || tx.leavesBroken();
        throw cause;
      }
    });
  }

  async *stream<Row>(
    statement: Statement<Row>,
    values: readonly unknown[],
    batchRows: number,
  ): AsyncGenerator<Row[], void, undefined> {
    const lent = await this.#borrow();
    try {
      await lent.client.query(BEGIN_STREAM);
      await lent.client.query(`declare ${CURSOR} no scroll cursor for ${statement.text}`, [...values]);
      for (let full = true; full;) {
        const { rows } = await lent.client.query(`fetch ${batchRows} from ${CURSOR}`);
        full = rows.length === batchRows;
        if (rows.length > 0) yield rows as Row[];
      }
    } catch (error) {
      this.#note(error);
      lent.broken ||= isConnectionLost(error);
      throw error;
    } finally {
      // The rollback ends the transaction and closes the cursor, also after a full read.
      lent.broken ||= !(await rolledBack(lent.client));
      lent.giveBack();
    }
  }

  async #lend<T>(use: (lent: Lent) => Promise<T>): Promise<T> {
    const lent = await this.#borrow();
    try {
      return await use(lent);
    } finally {
      lent.giveBack();
    }
  }

  /**
   * If one connection is dead or leads to a standby, the pool no longer uses connections that last
   * answered before now.
   */
  #note(error: unknown): void {
    if (isConnectionLost(error) || isReadOnly(error)) this.#pulse.lost();
  }

  async #borrow(): Promise<Lent> {
    const client = await this.#pulse.connect();
    // Without a listener, the loss of a borrowed connection would end the process.
    const onError = (): void => {
      lent.broken = true;
    };
    const lent: Lent = {
      client,
      broken: false,
      giveBack: () => {
        client.off("error", onError);
        if (!lent.broken) this.#pulse.answered(client);
        client.release(lent.broken);
      },
    };
    client.on("error", onError);
    return lent;
  }
}

/** A borrowed connection. A broken one is closed when it is returned. */
interface Lent {
  readonly client: PoolClient;
  broken: boolean;
  readonly giveBack: () => void;
}

class ClientTransaction implements Transaction {
  readonly #client: PoolClient;
  readonly #begun: Promise<unknown>;
  readonly #underWay = new Set<Promise<unknown>>();
  #isBegun = false;
  #isEnded = false;
  #isRolledBack = false;
  /** A statement waits for the answer to `begin`; later ones wait too, which keeps the order. */
  #holds = false;
  readonly #failures: unknown[] = [];

  constructor(client: PoolClient) {
    this.#client = client;
    this.#begun = this.#track(client.query("begin"));
    this.#begun.then(
      () => {
        this.#isBegun = true;
      },
      () => undefined,
    );
  }

  query<Row>(statement: Statement<Row>, values: readonly unknown[]): Promise<Row[]> {
    return this.#track(this.#send(statement, values));
  }

  execute(statement: Statement<unknown>, values: readonly unknown[]): void {
    void this.query(statement, values);
  }

  /** Commits. No further statement may be sent: the connection returns to the pool. */
  async commit(): Promise<void> {
    this.#isEnded = true;
    if (!this.#isBegun) await this.#begun;
    await untilSendFailuresReported();
    this.#throwFailure();
    const { command } = await this.#client.query("commit");
    // PostgreSQL answers in order, but pg reports some failures a moment later.
    await Promise.allSettled(this.#underWay);
    this.#throwFailure();
    assert(command === "COMMIT", "PostgreSQL rolled back the transaction in place of the commit");
  }

  /** Rolls back. Returns whether the connection can be used again. */
  rollback(): Promise<boolean> {
    this.#isEnded = true;
    this.#isRolledBack = true;
    return rolledBack(this.#client);
  }

  /** The first failure, if `error` only says that the transaction is aborted; otherwise `error`. */
  causeOf(error: unknown): unknown {
    return isOfFailedTransaction(error) ? (this.#failures[0] ?? error) : error;
  }

  /**
   * Whether a failure makes the connection unusable. After a statement that the server did not
   * answer, it is unknown whether the name of the statement is prepared.
   */
  leavesBroken(): boolean {
    return this.#failures.some(breaksConnection);
  }

  /**
   * Writes are sent only after the answer to `begin`. If `begin` failed alone, such as by a cancel,
   * they would be committed without a transaction. Reads may be sent together with `begin`.
   */
  async #send<Row>(statement: Statement<Row>, values: readonly unknown[]): Promise<Row[]> {
    assert(!this.#isEnded, `statement ${statement.name} was run after the end of its transaction`);
    if (!this.#isBegun && (this.#holds || !statement.reads)) {
      this.#holds = true;
      await this.#begun;
      assert(!this.#isRolledBack, `statement ${statement.name} was not run, its transaction is rolled back`);
    }
    return await run(this.#client, statement, values);
  }

  #throwFailure(): void {
    if (this.#failures.length > 0) throw this.#failures[0];
  }

  /** Records the failure of a statement, even if no code awaits it. */
  #track<T>(answer: Promise<T>): Promise<T> {
    this.#underWay.add(answer);
    answer.then(
      () => this.#underWay.delete(answer),
      (error: unknown) => {
        this.#failures.push(error);
        this.#underWay.delete(answer);
      },
    );
    return answer;
  }
}

/**
 * Resolves when statements that could not be sent, such as one with an unserializable value, have
 * failed. Without this wait, the server would commit the other statements. Statements that cannot
 * be sent fail by the end of this tick, and are reported in the next tick.
 */
async function untilSendFailuresReported(): Promise<void> {
  for (let tick = 0; tick < 2; tick += 1) await new Promise<void>((resolve) => process.nextTick(resolve));
}

async function run<Row>(client: PoolClient, statement: Statement<Row>, values: readonly unknown[]): Promise<Row[]> {
  const { name, text, answerTimeoutMs } = statement;
  // pg's types do not know the deadline of a single statement.
  const deadline = answerTimeoutMs === undefined ? {} : { query_timeout: answerTimeoutMs };
  const { rows } = await client.query({ name, text, values: [...values], ...deadline });
  return rows as Row[];
}

async function rolledBack(client: PoolClient): Promise<boolean> {
  try {
    await client.query("rollback");
    return true;
  } catch {
    return false;
  }
}
