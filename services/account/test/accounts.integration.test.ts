import { randomUUID } from "node:crypto";
import type { WorkTransaction } from "@kapi/commands";
import type { AccountStatus } from "@kapi/contracts";
import { type Clock, systemClock } from "@kapi/kernel";
import { startPool, type Database, statement, type Transaction } from "@kapi/postgres";
import { createLogger } from "@kapi/runtime";
import { eventually, serverEntry, TestClock } from "@kapi/testkit";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import type { Account } from "../src/domain/account.ts";
import type { CreationResult, DeletionRepository } from "../src/domain/ports.ts";
import { startServerFollower } from "../src/inbound/kafka/server-directory.ts";
import { streamTradingAccounts } from "../src/operations/list-trading-accounts.ts";
import { createAccountRepository } from "../src/outbound/postgres/account-repository.ts";
import { createAccountReader, LISTS } from "../src/outbound/postgres/account-reader.ts";
import { createCreationRepository } from "../src/outbound/postgres/creation-repository.ts";
import { createDeletionRepository } from "../src/outbound/postgres/deletion-repository.ts";
import { createServerRepository } from "../src/outbound/postgres/server-repository.ts";
import { type AccountSchema, startAccountSchema } from "./account-schema.ts";
import { creation, insertServer } from "./account-rows.ts";

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

function deletionRepository(clock: Clock = systemClock): DeletionRepository {
  return createDeletionRepository({ database, clock, deleteHistory: () => Promise.resolve() });
}

/** A transaction whose messages are ignored. */
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
  it("are unique under concurrent creations, and a repeated creation keeps its number", async () => {
    const serverId = await insertServer(database);
    const repository = createCreationRepository(database);
    const batches = Array.from({ length: 10 }, () => Array.from({ length: 7 }, () => creation(serverId)));
    const taken = (await Promise.all(batches.map((batch) => repository.findOrCreate(batch)))).flat();
    expect(new Set(taken.map((account) => account.accountNumber)).size).toBe(70);
    expect(taken.every((account) => /^\d{8}$/.test(account.accountNumber) && account.status === "pending")).toBe(true);
    const again = (await Promise.all(batches.map((batch) => repository.findOrCreate(batch)))).flat();
    expect(again.map((account) => account.accountNumber)).toEqual(taken.map((account) => account.accountNumber));
  });
});

const DATABASE_TIME = "2020-01-01T00:00:00.000Z";

it("a deletion is completed with the time of the given clock, not of the process", async () => {
  const serverId = await insertServer(database);
  const creations = createCreationRepository(database);
  const [{ id, accountNumber }] = (await creations.findOrCreate([creation(serverId)])) as [Account];
  const at = new Date().toISOString();
  await database.transaction((tx) => creations.close(asWork(tx), [{ managedAccountId: id, move: "activate", at }]));
  // The service passes the clock of the database.
  const deletions = deletionRepository(new TestClock(Date.parse(DATABASE_TIME)));
  await deletions.markDeleting(id);
  const events: unknown[] = [];
  await database.transaction((tx) => {
    const enqueue: WorkTransaction["enqueue"] = (messages) => {
      for (const { value } of messages) events.push(JSON.parse(value));
    };
    return deletions.finish({ ...asWork(tx), enqueue }, [id]);
  });
  const [account] = await createAccountRepository(database).read(serverId, [accountNumber]);
  expect(account).toMatchObject({ status: "deleted", updatedAt: new Date(DATABASE_TIME) });
  expect(events).toMatchObject([{ type: "account.deleted", occurredAt: DATABASE_TIME }]);
});

describe("servers", () => {
  it("take their status from the newest directory entry, and their configuration from the first one only", async () => {
    const given = { serverName: "Demo", supportedLeverage: [100, 1, 50] };
    const entry = serverEntry({ configuration: { ...serverEntry().configuration, ...given } });
    const serverRepository = createServerRepository(database, systemClock);
    await serverRepository.save(entry);
    await serverRepository.save({
      ...entry,
      version: 3,
      status: "disabled",
      configuration: { ...entry.configuration, serverName: "Other" },
    });
    await serverRepository.save({ ...entry, version: 2, status: "active" });
    const server = await createAccountReader(database).server(entry.serverId);
    expect(server).toMatchObject({ status: "disabled", serverName: "Demo", supportedLeverage: [1, 50, 100] });
  });

  it("are listed as unconfigured until their configuration is sent", async () => {
    const serverId = await insertServer(database);
    const serverRepository = createServerRepository(database, systemClock);
    const due = async (): Promise<boolean> => (await serverRepository.unconfigured(null)).includes(serverId);
    expect(await due()).toBe(true);
    await expect(
      serverRepository.sendConfiguration(serverId, () => Promise.reject(new Error("unavailable"))),
    ).rejects.toThrow("unavailable");
    expect(await due()).toBe(true);
    await serverRepository.sendConfiguration(serverId, () => Promise.resolve());
    expect(await due()).toBe(false);
  });

  it("get their configuration even if the 100 servers of the previous round cannot be reached", async () => {
    const prefix = randomUUID().slice(0, 8);
    const idOf = (index: number): string => `${prefix}-0000-4000-8000-${String(index).padStart(12, "0")}`;
    const entries = Array.from({ length: 101 }, (_, index) => serverEntry({ serverId: idOf(index) }));
    const reachable = idOf(100);
    const configured = new Set<string>();
    const follower = await startServerFollower({
      servers: () => entries,
      onChange: () => () => undefined,
      serverRepository: createServerRepository(database, systemClock),
      configure: async ({ serverId }) => {
        if (serverId.startsWith(prefix) && serverId !== reachable) throw new Error("unreachable");
        configured.add(serverId);
      },
      logger: createLogger({ service: "test", level: "silent" }),
    });
    try {
      await eventually(() => expect(configured).toContain(reachable));
    } finally {
      await follower.stop();
    }
  });
});

describe("the list of accounts", () => {
  it("streams every account once, newest first; a page is a part of the list", async () => {
    const serverId = await insertServer(database);
    const reader = createAccountReader(database);
    const creations = Array.from({ length: 1_203 }, (_, index) =>
      creation(serverId, { createdAt: new Date(1_700_000_000_000 + Math.floor(index / 3)).toISOString() }),
    );
    await createCreationRepository(database).findOrCreate(creations);
    const server = await reader.server(serverId);
    if (server === null) throw new Error("the saved server was not found");
    const samples = { latest: (_: string, numbers: readonly string[]) => Promise.resolve(numbers.map(() => null)) };
    let text = "";
    for await (const chunk of streamTradingAccounts({ reader, samples }, server, {})) text += chunk;
    const listed = (JSON.parse(text) as { accounts: { accountNumber: string; createdAt: string }[] }).accounts;
    expect(new Set(listed.map((account) => account.accountNumber)).size).toBe(1_203);
    const keys = listed.map((account) => `${account.createdAt} ${account.accountNumber}`);
    expect(keys).toEqual(keys.toSorted().toReversed());
    const {
      accounts,
      pagination: { total },
    } = await reader.page(serverId, { page: 3, limit: 100 });
    expect(total).toBe(1_203);
    expect(accounts.map((account) => account.accountNumber)).toEqual(
      listed.slice(200, 300).map((account) => account.accountNumber),
    );
  });

  it("is complete and without repeats, despite changes between chunks", async () => {
    const serverId = await insertServer(database);
    const [reader, repository] = [createAccountReader(database), createCreationRepository(database)];
    const [newestMs, count] = [1_700_000_000_000, 1_500];
    // All accounts are created within one millisecond. Neighbours in the list differ by one
    // microsecond, or only in their account number.
    const micros = (index: number): string =>
      new Date(newestMs).toISOString().replace("Z", `${String(Math.floor(index / 2) % 1_000).padStart(3, "0")}Z`);
    const there = await repository.findOrCreate(
      Array.from({ length: count }, (_, index) => creation(serverId, { createdAt: micros(index) })),
    );
    const deleted = there.filter((_, index) => index % 10 === 0);
    const seen: Account[] = [];
    for await (const chunk of reader.all(serverId, {})) {
      if (seen.length === 0) {
        const times = [newestMs - 60_000, newestMs, newestMs + 60_000].map((at) => new Date(at).toISOString());
        await repository.findOrCreate(times.map((createdAt) => creation(serverId, { createdAt })));
        for (const { id } of deleted) await deletionRepository().markDeleting(id);
        await database.transaction((tx) =>
          deletionRepository().finish(
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

  it("holds no connection between two chunks", async () => {
    const serverId = await insertServer(database);
    const small = await startPool({ ...schema.pool, applicationName: "small", max: 1 });
    await createCreationRepository(database).findOrCreate(Array.from({ length: 1_001 }, () => creation(serverId)));
    const reader = createAccountReader(small.value);
    const lists = Array.from({ length: 30 }, () => reader.all(serverId, {})[Symbol.asyncIterator]());
    for (const list of lists) expect((await list.next()).value).toHaveLength(200);
    const startedMs = Date.now();
    expect((await reader.page(serverId, { page: 1, limit: 1 })).pagination.total).toBe(1_001);
    expect(Date.now() - startedMs).toBeLessThan(1_000);
    for (const list of lists) await list.return?.();
    await small.stop();
  });

  it("has exact totals per server and status, under concurrent changes", async () => {
    const serverId = await insertServer(database);
    const [creations, repository, deletions] = [
      createCreationRepository(database),
      createAccountRepository(database),
      deletionRepository(),
    ];
    const lives = Array.from({ length: 12 }, async (_, round) => {
      const taken = await creations.findOrCreate(Array.from({ length: 10 }, () => creation(serverId)));
      const at = new Date().toISOString();
      const ends = taken.slice(1).map(({ id: managedAccountId }, index): CreationResult => {
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
        await repository.finishCommands(asWork(tx), statuses);
        if (round % 3 === 0) throw new Error("rolled back");
      });
      await (round % 3 === 0 ? expect(change).rejects.toThrow("rolled back") : change);
      const [pending, , gone] = taken.map(({ id }) => id);
      await deletions.markDeleting(String(gone));
      await deletions.markDeleting(String(gone));
      if (round % 2 === 0) await database.transaction((tx) => deletions.finish(asWork(tx), [String(gone)]));
      const state = await deletions.find(serverId, String(taken[0]?.accountNumber));
      if (round % 4 === 0 && state !== null && state.account.id === pending) await deletions.start(state);
    });
    await Promise.all(lives);
    const counted = async (status?: AccountStatus): Promise<number> =>
      (await createAccountReader(database).page(serverId, { page: 1, limit: 1, status })).pagination.total;
    const rows = await database.query(COUNT_ROWS, [serverId]);
    expect(rows.length).toBeGreaterThan(4);
    for (const { status, accounts } of rows) expect([status, await counted(status)]).toEqual([status, accounts]);
    expect(await counted()).toBe(rows.reduce((sum, { accounts }) => sum + accounts, 0));
  });

  it("has exact totals after two concurrent changes, and neither change waits for the other", async () => {
    const serverId = await insertServer(database);
    const repository = createCreationRepository(database);
    const [one, other] = await repository.findOrCreate([creation(serverId), creation(serverId)]);
    const at = new Date().toISOString();
    const activated = (account: Account | undefined): CreationResult[] => [
      { managedAccountId: String(account?.id), move: "activate", at },
    ];
    await database.transaction(async (tx) => {
      await repository.close(asWork(tx), activated(one));
      await database.transaction((meanwhile) => repository.close(asWork(meanwhile), activated(other)));
    });
    const { pagination } = await createAccountReader(database).page(serverId, { page: 1, limit: 1, status: "active" });
    expect(pagination.total).toBe(2);
  });

  it("is empty for an empty server", async () => {
    const reader = createAccountReader(database);
    const server = await reader.server(await insertServer(database));
    if (server === null) throw new Error("the saved server was not found");
    let text = "";
    const samples = { latest: () => Promise.resolve([]) };
    for await (const chunk of streamTradingAccounts({ reader, samples }, server, {})) text += chunk;
    expect(JSON.parse(text)).toEqual({ accounts: [] });
  });

  it("continues each chunk in the index where the previous chunk ended", async () => {
    const explain = statement<{ "QUERY PLAN": string }>("test-explain-chunk", `explain ${LISTS.all.chunk.text}`);
    const plan = await database.query(explain, [randomUUID(), new Date().toISOString(), "10000001", 200]);
    const text = plan.map((row) => row["QUERY PLAN"]).join("\n");
    expect(text).toMatch(/accounts_newest[^]*Index Cond: .*ROW\(created_at, account_number\) < /);
    expect(text).not.toContain("Sort");
  });
});
