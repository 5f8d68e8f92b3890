import type { AccountStatus } from "@kapi/contracts";
import { type Database, statement } from "@kapi/postgres";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import type { Account } from "../src/domain/account.ts";
import { createAccountReader, SEARCHES } from "../src/outbound/postgres/account-reader.ts";
import { SEARCH_SETTINGS, searchChunk } from "../src/outbound/postgres/account-search.ts";
import { createCreationRepository } from "../src/outbound/postgres/creation-repository.ts";
import { type AccountSchema, startAccountSchema } from "./account-schema.ts";
import { creation, insertServer } from "./account-rows.ts";

const DELETE = statement<never>("test-delete", "update accounts set status = 'deleted' where id = any($1::uuid[])");
let schema: AccountSchema;
let database: Database;

beforeAll(async () => {
  schema = await startAccountSchema();
  ({ database } = schema);
});

afterAll(() => schema.stop());

/** Creates accounts with these names on a new server, in order; the last one is the newest. */
async function named(names: readonly string[]): Promise<{ serverId: string; accounts: readonly Account[] }> {
  const serverId = await insertServer(database);
  const accounts = await createCreationRepository(database).findOrCreate(
    names.map((accountName, index) =>
      creation(serverId, { accountName, createdAt: new Date(1_700_000_000_000 + index).toISOString() }),
    ),
  );
  return { serverId, accounts };
}

/**
 * The names that a search finds, newest first. Expects that the page and the unpaged list have the
 * same names.
 */
async function found(serverId: string, search: string): Promise<readonly string[]> {
  const reader = createAccountReader(database);
  const {
    accounts,
    pagination: { total },
  } = await reader.page(serverId, { page: 1, limit: 100, search });
  const names = accounts.map(({ accountName }) => accountName);
  expect(total).toBe(names.length);
  const whole: string[] = [];
  for await (const chunk of reader.all(serverId, { search })) whole.push(...chunk.map((one) => one.accountName));
  expect(whole).toEqual(names);
  return names;
}

/** The query plan of a search page. */
async function planOf(wanted: "all" | "ofStatus", values: readonly unknown[]): Promise<string> {
  const { text } = SEARCHES[wanted].page;
  const explain = statement<{ "QUERY PLAN": string }>(`test-explain-${wanted}`, `explain analyze ${text}`);
  const plan = await database.transaction((tx) => {
    tx.execute(SEARCH_SETTINGS, []);
    return tx.query(explain, values);
  });
  return plan.map((row) => row["QUERY PLAN"]).join("\n");
}

describe("a search among accounts", () => {
  it("treats percent and underscore literally", async () => {
    const serverId = await insertServer(database);
    const reader = createAccountReader(database);
    await createCreationRepository(database).findOrCreate([
      creation(serverId, { accountName: "100% sure" }),
      creation(serverId, { accountName: "1000 sure" }),
    ]);
    const { accounts } = await reader.page(serverId, { page: 1, limit: 20, search: "100% s" });
    expect(accounts.map((account) => account.accountName)).toEqual(["100% sure"]);
  });

  it("finds accounts by a part of the name or by the number, in upper and lower case, paged or not", async () => {
    const [serverId, otherId] = [await insertServer(database), await insertServer(database)];
    const reader = createAccountReader(database);
    const repository = createCreationRepository(database);
    const names = Array.from({ length: 1_100 }, (_, index) => (index % 2 === 0 ? `Ada ${index}` : `Grace ${index}`));
    const there = await repository.findOrCreate(
      names.map((accountName, index) =>
        creation(serverId, { accountName, createdAt: new Date(1_700_000_000_000 + index).toISOString() }),
      ),
    );
    await repository.findOrCreate([creation(otherId, { accountName: "Ada 0" })]);
    const found = async (search: string, status?: AccountStatus): Promise<readonly string[]> => {
      const pages: string[] = [];
      for (let page = 1; page <= 12; page += 1) {
        const {
          accounts,
          pagination: { total },
        } = await reader.page(serverId, { page, limit: 100, search, status });
        pages.push(...accounts.map(({ id }) => id));
        if (page === 12) expect(total).toBe(pages.length);
      }
      const whole: string[] = [];
      for await (const chunk of reader.all(serverId, { search, status })) whole.push(...chunk.map(({ id }) => id));
      expect(whole).toEqual(pages);
      return pages;
    };
    const expected = (matches: (account: Account) => boolean): readonly string[] =>
      there
        .filter(matches)
        .map(({ id }) => id)
        .toReversed();
    const number = there[7]?.accountNumber ?? "";
    expect(await found("aDA")).toEqual(expected(({ accountName }) => accountName.startsWith("Ada")));
    expect(await found("a 10")).toEqual(expected(({ accountName }) => accountName.includes("a 10")));
    expect(await found("e")).toEqual(expected(({ accountName }) => accountName.includes("e")));
    expect(await found(number)).toEqual([there[7]?.id]);
    expect(await found(number, "pending")).toEqual([there[7]?.id]);
    expect(await found(number, "active")).toEqual([]);
    expect(await found(`${number}\nGrace`)).toEqual([]);
    expect(await found("nobody")).toEqual([]);
  });

  it("uses the index accounts_search, with or without a status, for texts of any length", async () => {
    const { serverId } = await named(Array.from({ length: 3_000 }, (_, index) => `Trader ${index}`));
    for (const pattern of ["%nobody%", "%x%"]) {
      const plans = [
        await planOf("all", [serverId, pattern, "infinity", "", 20, 0]),
        await planOf("ofStatus", [serverId, pattern, "pending", "infinity", "", 20, 0]),
      ];
      for (const plan of plans) {
        expect(plan).toContain("accounts_search");
        expect(plan).not.toContain("accounts_newest");
      }
    }
  });

  it("finds non-ASCII letters in upper and lower case, also if their lower case is an ASCII letter", async () => {
    const kelvin = "\u212afund";
    const names = ["\u0130stanbul Depot", "Zoë ÅNGSTRÖM", "Пётр Иванов", "王小明", kelvin, "Istanbul 2"];
    const { serverId } = await named(names);
    expect(await found(serverId, "istanbul")).toEqual(["Istanbul 2", "\u0130stanbul Depot"]);
    expect(await found(serverId, "\u0130STANBUL D")).toEqual(["\u0130stanbul Depot"]);
    expect(await found(serverId, "zoë ångström")).toEqual(["Zoë ÅNGSTRÖM"]);
    expect(await found(serverId, "ЁТР ИВ")).toEqual(["Пётр Иванов"]);
    expect(await found(serverId, "小")).toEqual(["王小明"]);
    expect(await found(serverId, "kfund")).toEqual([kelvin]);
  });

  it("treats special characters literally, also in a text of 100 characters", async () => {
    const longest = `${"x".repeat(98)}_%`;
    const { serverId } = await named([String.raw`a\b`, "a_b", "a%b", "axb", "line\nfeed", "O'Neil -- ;", longest]);
    expect(await found(serverId, String.raw`A\B`)).toEqual([String.raw`a\b`]);
    expect(await found(serverId, "a_b")).toEqual(["a_b"]);
    expect(await found(serverId, "a%b")).toEqual(["a%b"]);
    expect(await found(serverId, "\\")).toEqual([String.raw`a\b`]);
    expect(await found(serverId, "E\nF")).toEqual(["line\nfeed"]);
    expect(await found(serverId, "'neil -- ;")).toEqual(["O'Neil -- ;"]);
    expect(await found(serverId, longest)).toEqual([longest]);
    expect(await found(serverId, "_%")).toEqual([longest]);
  });

  it("finds no deleted account, and no account of another server", async () => {
    const { serverId, accounts } = await named(["Ada 1", "Ada 2", "Ada 3"]);
    await named(["Ada 4"]);
    await database.query(DELETE, [accounts.slice(1, 2).map(({ id }) => id)]);
    expect(await found(serverId, "ada")).toEqual(["Ada 3", "Ada 1"]);
  });

  it("has a timeout of 2 s in the database, for a page and for each chunk of an unpaged list", async () => {
    const text = "select current_setting('statement_timeout') as timeout";
    const timeout = statement<{ timeout: string }>("test-timeout", text);
    expect(await searchChunk(database, timeout, [])).toEqual([{ timeout: "2s" }]);
    const page = await database.transaction((tx) => {
      tx.execute(SEARCH_SETTINGS, []);
      return tx.query(timeout, []);
    });
    expect(page).toEqual([{ timeout: "2s" }]);
  });
});
