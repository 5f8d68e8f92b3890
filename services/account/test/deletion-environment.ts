import { type Database, startPool, statement } from "@kapi/postgres";
import { createLogger, type Started } from "@kapi/runtime";
import { eventually } from "@kapi/testkit";
import { expect } from "vitest";

import { expectDeletionPublishedOnce } from "./deletion-events.ts";
import { Harness } from "./harness.ts";

const HISTORY = statement<{ records: number }>(
  "test-history-records",
  `select (select count(*) from orders where account_number = $1) + (select count(*) from positions where account_number = $1)
     + (select count(*) from deals where account_number = $1) + (select count(*) from feeds where account_number = $1) as records`,
);
const MAKE_DUE = statement(
  "test-deletion-due",
  "update accounts set deletion_due_at = now() where status = 'deleting'",
);
/** Paths of reads, below the path of the account. */
const READ_PATHS = ["", "/orders?page=1&limit=20", "/positions?page=1&limit=20", "/positions?status=open", "/deals"];

/** The answer of a request for a deleted or unknown account. */
export const GONE = { status: 404, code: "ACCOUNT_NOT_FOUND" };

/** An account service, and its schema, for tests of deletions. */
export class DeletionEnvironment {
  readonly harness: Harness;
  readonly #database: Started<Database>;

  private constructor(harness: Harness, database: Started<Database>) {
    this.harness = harness;
    this.#database = database;
  }

  static async start(): Promise<DeletionEnvironment> {
    const harness = await Harness.create();
    const logger = createLogger({ service: "test", level: "silent" });
    const connectionString = harness.stack.environment.postgresUrl;
    const database = await startPool({ connectionString, schema: "account", applicationName: "test", logger });
    return new DeletionEnvironment(harness, database);
  }

  get database(): Database {
    return this.#database.value;
  }

  async stop(): Promise<void> {
    await this.#database.stop();
    await this.harness.stop();
  }

  /** Makes the service resume the deletions that wait for their next attempt. */
  async makeDue(): Promise<void> {
    await this.database.query(MAKE_DUE, []);
  }

  /**
   * Expects that no read shows the account, that its history is deleted, and that finance and
   * metrics were asked to delete their data of the account.
   */
  async expectGone(account: string): Promise<void> {
    const { harness } = this;
    for (const path of READ_PATHS)
      expect(await harness.call("GET", harness.pathOf(account) + path)).toMatchObject(GONE);
    const name = { serverId: harness.server.serverId, accountNumber: account };
    const asked = await harness.call("POST", "/internal/accounts/existing", { accounts: [name] });
    expect(asked.body).toMatchObject({ existing: [false], ids: [null] });
    const { body } = await harness.call("GET", `/internal/servers/${name.serverId}/accounts?search=${account}`);
    expect(body.accounts).toEqual([]);
    expect(await harness.client.snapshot(name.serverId, account)).toBeNull();
    expect((await this.database.query(HISTORY, [account]))[0]?.records).toBe(0);
    expect(harness.neighbours.deleted).toEqual(expect.arrayContaining([`finance/${account}`, `metrics/${account}`]));
  }

  expectPublishedOnce(account: string): Promise<void> {
    return expectDeletionPublishedOnce(this.harness, account);
  }

  /** Creates an account with an open position and booked events. */
  async accountWithPosition(): Promise<string> {
    const { harness } = this;
    const account = await harness.account();
    await harness.openPosition(account);
    await eventually(async () => {
      const { body } = await harness.call("GET", `${harness.pathOf(account)}/deals?page=1&limit=20`);
      expect(body.pagination.total).toBe(1);
    });
    return account;
  }

  /** Places an order at a price that is never reached. */
  async placeLimit(account: string): Promise<void> {
    const order = { symbol: "EURUSD", side: "buy", orderType: "limit", volume: 0.1, price: 0.5 };
    const { status } = await this.harness.control("POST", `/accounts/${account}/orders`, order);
    expect(status).toBe(201);
  }
}
