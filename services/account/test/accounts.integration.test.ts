import { randomUUID } from "node:crypto";
import type { WorkTransaction } from "@kapi/commands";
import type { AccountStatus } from "@kapi/contracts";
import { systemClock } from "@kapi/kernel";
import { createPool, type Database, statement, type Transaction } from "@kapi/postgres";
import { serverEntry } from "@kapi/testkit";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import type { Account } from "../src/domain/account.ts";
import type { CreationEnd, DeletionBook } from "../src/domain/ports.ts";
import { streamTradingAccounts } from "../src/operations/list-trading-accounts.ts";
import { createAccountBook } from "../src/outbound/postgres/account-book.ts";
import { createAccountReader, LISTS } from "../src/outbound/postgres/account-reader.ts";
import { createCreationBook } from "../src/outbound/postgres/creation-book.ts";
import { createDeletionBook } from "../src/outbound/postgres/deletion-book.ts";
import { createServerRegister } from "../src/outbound/postgres/server-register.ts";
import { type AccountSchema, startAccountSchema } from "./account-schema.ts";
import { creation, newServer } from "./account-rows.ts";

const COUNT_ROWS = statement<{ status: AccountStatus; accounts: number }>(
  "test-count-rows",
  "select status, count(*) as accounts from accounts where server_id = $1 and status <> 'deleted' group by status",
);
let schema: AccountSchema;
let database: Database;

beforeAll(async () => {
  schema = await startAccountSchema();
  ({ database } = schema);
});

afterAll(() => schema.stop());

function deletionBook(): DeletionBook {
  return createDeletionBook({ database, deleteHistory: () => Promise.resolve() });
}

/** A transaction whose messages nobody waits for. */
function asWork(tx: Transaction): WorkTransaction {
  return {
    query: (statement, values) => tx.query(statement, values),
    execute: (statement, values) => tx.execute(statement, values),
    enqueue: () => undefined,
    readOpen: () => Promise.resolve([]),
    finish: () => undefined,
  };
}

describe("account numbers", () => {
  it("no number is given twice, however many creations come at once, and a repeat keeps its number", async () => {
    const serverId = await newServer(database);
    const book = createCreationBook(database);
    const batches = Array.from({ length: 10 }, () => Array.from({ length: 7 }, () => creation(serverId)));
    const taken = (await Promise.all(batches.map((batch) => book.takeUp(batch)))).flat();
    expect(new Set(taken.map((account) => account.accountNumber)).size).toBe(70);
    expect(taken.every((account) => /^\d{8}$/.test(account.accountNumber) && account.status === "pending")).toBe(true);
    const again = (await Promise.all(batches.map((batch) => book.takeUp(batch)))).flat();
    expect(again.map((account) => account.accountNumber)).toEqual(taken.map((account) => account.accountNumber));
  });
});

describe("servers", () => {
  it("the directory decides about status by version, and its configuration counts only the first time", async () => {
    const given = { serverName: "Demo", supportedLeverage: [100, 1, 50] };
    const entry = serverEntry({ configuration: { ...serverEntry().configuration, ...given } });
    const register = createServerRegister(database, systemClock);
    await register.save(entry);
    await register.save({
      ...entry,
      version: 3,
      status: "disabled",
      configuration: { ...entry.configuration, serverName: "Other" },
    });
    await register.save({ ...entry, version: 2, status: "active" });
    const server = await createAccountReader(database).server(entry.serverId);
    expect(server).toMatchObject({ status: "disabled", serverName: "Demo", supportedLeverage: [1, 50, 100] });
  });

  it("a trading server is told of a configuration until it was", async () => {
    const serverId = await newServer(database);
    const register = createServerRegister(database, systemClock);
    const due = async (): Promise<boolean> => (await register.unconfigured()).includes(serverId);
    expect(await due()).toBe(true);
    await expect(register.tell(serverId, () => Promise.reject(new Error("away")))).rejects.toThrow("away");
    expect(await due()).toBe(true);
    await register.tell(serverId, () => Promise.resolve());
    expect(await due()).toBe(false);
  });
});

describe("the list of accounts", () => {
  it("streams every account once, newest first, and a page is a part of it", async () => {
    const serverId = await newServer(database);
    const reader = createAccountReader(database);
    const creations = Array.from({ length: 1_203 }, (_, index) =>
      creation(serverId, { createdAt: new Date(1_700_000_000_000 + Math.floor(index / 3)).toISOString() }),
    );
    await createCreationBook(database).takeUp(creations);
    const server = await reader.server(serverId);
    if (server === null) throw new Error("the server was saved");
    const samples = { latest: (_: string, numbers: readonly string[]) => Promise.resolve(numbers.map(() => null)) };
    let text = "";
    for await (const chunk of streamTradingAccounts({ reader, samples }, server, {})) text += chunk;
    const listed = (JSON.parse(text) as { accounts: { accountNumber: string; createdAt: string }[] }).accounts;
    expect(new Set(listed.map((account) => account.accountNumber)).size).toBe(1_203);
    const keys = listed.map((account) => `${account.createdAt} ${account.accountNumber}`);
    expect(keys).toEqual(keys.toSorted().toReversed());
    const { accounts, total } = await reader.page(serverId, { page: 3, limit: 100 });
    expect(total).toBe(1_203);
    expect(accounts.map((account) => account.accountNumber)).toEqual(
      listed.slice(200, 300).map((account) => account.accountNumber),
    );
  });

  it("is complete, each account once, whatever is added, changed and deleted between two chunks", async () => {
    const serverId = await newServer(database);
    const [reader, book] = [createAccountReader(database), createCreationBook(database)];
    const [newestMs, count] = [1_700_000_000_000, 1_500];
    // All of one millisecond: neighbours differ by microseconds, or by their number alone.
    const micros = (index: number): string =>
      new Date(newestMs).toISOString().replace("Z", `${String(Math.floor(index / 2) % 1_000).padStart(3, "0")}Z`);
    const there = await book.takeUp(
      Array.from({ length: count }, (_, index) => creation(serverId, { createdAt: micros(index) })),
    );
    const deleted = there.filter((_, index) => index % 10 === 0);
    const seen: Account[] = [];
    for await (const chunk of reader.all(serverId, {})) {
      if (seen.length === 0) {
        const times = [newestMs - 60_000, newestMs, newestMs + 60_000].map((at) => new Date(at).toISOString());
        await book.takeUp(times.map((createdAt) => creation(serverId, { createdAt })));
        for (const { id } of deleted) await deletionBook().markDeleting(id);
        await database.transaction((tx) =>
          deletionBook().finish(
            asWork(tx),
            deleted.map(({ id }) => id),
          ),
        );
      }
      expect(chunk.length).toBeLessThanOrEqual(200);
      seen.push(...chunk);
    }
    const ids = new Set(seen.map(({ id }) => id));
    expect(ids.size).toBe(seen.length);
    const gone = new Set(deleted.map(({ id }) => id));
    expect(there.filter(({ id }) => !ids.has(id) && !gone.has(id))).toEqual([]);
  });

  it("holds no connection between two chunks, so that others are served while it is read slowly", async () => {
    const serverId = await newServer(database);
    const small = await createPool({ ...schema.pool, applicationName: "small", max: 1 });
    await createCreationBook(database).takeUp(Array.from({ length: 1_001 }, () => creation(serverId)));
    const reader = createAccountReader(small.value);
    const lists = Array.from({ length: 30 }, () => reader.all(serverId, {})[Symbol.asyncIterator]());
    for (const list of lists) expect((await list.next()).value).toHaveLength(200);
    const startedMs = Date.now();
    expect((await reader.page(serverId, { page: 1, limit: 1 })).total).toBe(1_001);
    expect(Date.now() - startedMs).toBeLessThan(1_000);
    for (const list of lists) await list.return?.();
    await small.stop();
  });

  it("its total is exact for the server and for each status, whatever was moved, deleted or rolled back at once", async () => {
    const serverId = await newServer(database);
    const [creations, book, deletions] = [createCreationBook(database), createAccountBook(database), deletionBook()];
    const lives = Array.from({ length: 12 }, async (_, round) => {
      const taken = await creations.takeUp(Array.from({ length: 10 }, () => creation(serverId)));
      const at = new Date().toISOString();
      const ends = taken.slice(1).map(({ id: managedAccountId }, index): CreationEnd => {
        return index === 0
          ? { managedAccountId, move: "fail", reason: "No", at }
          : { managedAccountId, move: "activate", at };
      });
      await database.transaction((tx) => creations.close(asWork(tx), ends));
      const statuses = taken.slice(3).map(({ accountNumber }, index) => ({
        commandId: randomUUID(),
        serverId,
        accountNumber,
        effect: { made: true, at, status: index % 2 === 0 ? ("disabled" as const) : ("archived" as const) },
      }));
      const change = database.transaction(async (tx) => {
        await book.end(asWork(tx), statuses);
        if (round % 3 === 0) throw new Error("rolled back");
      });
      await (round % 3 === 0 ? expect(change).rejects.toThrow("rolled back") : change);
      const [pending, , gone] = taken.map(({ id }) => id);
      await deletions.markDeleting(String(gone));
      await deletions.markDeleting(String(gone));
      if (round % 2 === 0) await database.transaction((tx) => deletions.finish(asWork(tx), [String(gone)]));
      const state = await deletions.look(serverId, String(taken[0]?.accountNumber));
      if (round % 4 === 0 && state !== null && state.account.id === pending) await deletions.start(state);
    });
    await Promise.all(lives);
    const counted = async (status?: AccountStatus): Promise<number> =>
      (await createAccountReader(database).page(serverId, { page: 1, limit: 1, status })).total;
    const rows = await database.query(COUNT_ROWS, [serverId]);
    expect(rows.length).toBeGreaterThan(4);
    for (const { status, accounts } of rows) expect([status, await counted(status)]).toEqual([status, accounts]);
    expect(await counted()).toBe(rows.reduce((sum, { accounts }) => sum + accounts, 0));
  });

  it("no change of accounts waits for another because of the total", async () => {
    const serverId = await newServer(database);
    const book = createCreationBook(database);
    const [one, other] = await book.takeUp([creation(serverId), creation(serverId)]);
    const at = new Date().toISOString();
    const activated = (account: Account | undefined): CreationEnd[] => [
      { managedAccountId: String(account?.id), move: "activate", at },
    ];
    await database.transaction(async (tx) => {
      await book.close(asWork(tx), activated(one));
      await database.transaction((meanwhile) => book.close(asWork(meanwhile), activated(other)));
    });
    const { total } = await createAccountReader(database).page(serverId, { page: 1, limit: 1, status: "active" });
    expect(total).toBe(2);
  });

  it("an empty server is an empty list", async () => {
    const reader = createAccountReader(database);
    const server = await reader.server(await newServer(database));
    if (server === null) throw new Error("the server was saved");
    let text = "";
    const samples = { latest: () => Promise.resolve([]) };
    for await (const chunk of streamTradingAccounts({ reader, samples }, server, {})) text += chunk;
    expect(JSON.parse(text)).toEqual({ accounts: [] });
  });

  it("a chunk of the whole list begins in the index where the chunk before ended", async () => {
    const explain = statement<{ "QUERY PLAN": string }>("test-explain-chunk", `explain ${LISTS.all.chunk.text}`);
    const plan = await database.query(explain, [randomUUID(), new Date().toISOString(), "10000001", 200]);
    const text = plan.map((row) => row["QUERY PLAN"]).join("\n");
    expect(text).toMatch(/accounts_newest[^]*Index Cond: .*ROW\(created_at, account_number\) < /);
    expect(text).not.toContain("Sort");
  });
});
