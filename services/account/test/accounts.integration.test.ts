import { randomUUID } from "node:crypto";
import { fileURLToPath } from "node:url";
import type { ServerEntry } from "@kapi/contracts";
import { createPool, type Database, migrate } from "@kapi/postgres";
import { createLogger } from "@kapi/runtime";
import { createTestEnvironment, type TestEnvironment } from "@kapi/testkit";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import type { AccountCreation } from "../src/domain/account.ts";
import { streamTradingAccounts } from "../src/operations/list-trading-accounts.ts";
import { createAccountReader } from "../src/outbound/postgres/account-reader.ts";
import { createCreationBook } from "../src/outbound/postgres/creation-book.ts";
import { createServerRegister } from "../src/outbound/postgres/server-register.ts";

const logger = createLogger({ service: "test", level: "error" });
const schema = "account";
let environment: TestEnvironment;
let database: Database;
let stop: () => Promise<void>;

beforeAll(async () => {
  environment = await createTestEnvironment({ needs: ["postgres"] });
  const connectionString = environment.postgresUrl;
  const directory = fileURLToPath(new URL("../migrations", import.meta.url));
  await migrate({ connectionString, schema, directory, logger });
  const pool = await createPool({ connectionString, schema, applicationName: "test", logger });
  database = pool.value;
  stop = () => pool.stop();
});

afterAll(async () => {
  await stop();
  await environment.stop();
});

function serverEntry(overrides: Partial<ServerEntry> = {}): ServerEntry {
  return {
    kind: "server",
    version: 1,
    serverId: randomUUID(),
    organizationId: randomUUID(),
    status: "active",
    tradingServerUrl: "http://127.0.0.1:1",
    configuration: {
      serverName: "Demo",
      companyName: "Example",
      currency: "USD",
      environment: "demo",
      supportedLeverage: [100, 1, 50],
      defaultLeverage: 100,
    },
    ...overrides,
  };
}

async function newServer(): Promise<string> {
  const entry = serverEntry();
  await createServerRegister(database).save(entry);
  return entry.serverId;
}

function creation(serverId: string, overrides: Partial<AccountCreation> = {}): AccountCreation {
  return {
    commandId: randomUUID(),
    managedAccountId: randomUUID(),
    organizationId: randomUUID(),
    serverId,
    accountName: "Trader",
    leverage: 100,
    initialBalanceMinor: 100_000,
    createdAt: new Date().toISOString(),
    ...overrides,
  };
}

describe("account numbers", () => {
  it("no number is given twice, however many creations come at once, and a repeat keeps its number", async () => {
    const serverId = await newServer();
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
    const entry = serverEntry();
    const register = createServerRegister(database);
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
    const serverId = await newServer();
    const register = createServerRegister(database);
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
    const serverId = await newServer();
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

  it("an empty server is an empty list", async () => {
    const reader = createAccountReader(database);
    const server = await reader.server(await newServer());
    if (server === null) throw new Error("the server was saved");
    let text = "";
    const samples = { latest: () => Promise.resolve([]) };
    for await (const chunk of streamTradingAccounts({ reader, samples }, server, {})) text += chunk;
    expect(JSON.parse(text)).toEqual({ accounts: [] });
  });

  it("a search takes percent and underscore as themselves", async () => {
    const serverId = await newServer();
    const reader = createAccountReader(database);
    await createCreationBook(database).takeUp([
      creation(serverId, { accountName: "100% sure" }),
      creation(serverId, { accountName: "1000 sure" }),
    ]);
    const { accounts } = await reader.page(serverId, { page: 1, limit: 20, search: "100% s" });
    expect(accounts.map((account) => account.accountName)).toEqual(["100% sure"]);
  });
});
