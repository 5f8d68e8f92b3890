import { randomUUID } from "node:crypto";

import { ACCOUNT_SORTS, type AccountOrder, type AccountSort, type AccountRef } from "@kapi/contracts";
import { type Database } from "@kapi/postgres";
import { Scope } from "@kapi/runtime";
import { afterAll, beforeAll, expect, it } from "vitest";

import type { ClosedMinute } from "../src/domain/minute-aggregator.ts";
import type { AccountRanks, RankedAccount, SnapshotStore } from "../src/domain/ports.ts";
import { describeAccounts } from "../src/operations/describe-accounts.ts";
import { createAccountDescriptions } from "../src/outbound/postgres/account-descriptions.ts";
import { createAccountRanks } from "../src/outbound/postgres/account-ranks.ts";
import { createSnapshotStore } from "../src/outbound/postgres/snapshot-store.ts";
import { startSnapshotDatabase } from "./snapshot-database.ts";

const DAY_MS = 86_400_000;
const today = Math.floor(Date.now() / DAY_MS) * DAY_MS;
const kept = { firstMs: 0, beforeMs: Number.MAX_SAFE_INTEGER };
const scope = new Scope();
let database: Database;
let store: SnapshotStore;
let ranks: AccountRanks;

beforeAll(async () => {
  database = await startSnapshotDatabase(scope);
  store = createSnapshotStore(database);
  ranks = createAccountRanks(database);
  await store.createDays(today, today + DAY_MS);
});
afterAll(() => scope.stop());

interface Values {
  readonly equityMinor: number;
  readonly balanceMinor: number;
  readonly dayStartMinor: number;
  readonly dayLowMinor: number;
  readonly peakMinor: number;
  readonly lowMinor: number;
  readonly marginMinor: number;
  readonly marginLevel: number;
}

let sequence = 0;

function minuteOf(serverId: string, accountNumber: string, values: Values): ClosedMinute {
  sequence += 1;
  const { equityMinor, balanceMinor, marginMinor, marginLevel, ...low } = values;
  const account = { serverId, accountNumber };
  const amounts = { balanceMinor, equityMinor, marginMinor, freeMarginMinor: 0, marginLevel };
  return {
    snapshot: {
      account,
      measuredAtMs: today + 60_000 * (sequence % 1_000),
      sequence,
      ...amounts,
      dailyDrawdown: 0,
      totalDrawdown: 0,
      lowestEquityMinor: equityMinor,
      highestEquityMinor: equityMinor,
    },
    state: { log: { sequence, to: sequence }, drawdown: { equityMinor, dayMs: today, ...low } },
    fromOffset: sequence,
    endedHour: null,
  };
}

/** Few different values, so that many accounts have equal ones. */
function randomValues(): Values {
  const some = (): number => Math.floor(Math.random() * 50) * 1_000;
  const dayStartMinor = 100_000 + some();
  const peakMinor = dayStartMinor + some();
  const marginMinor = Math.random() < 0.5 ? 0 : some();
  return {
    equityMinor: 50_000 + some(),
    balanceMinor: 50_000 + some(),
    dayStartMinor,
    dayLowMinor: dayStartMinor - some(),
    peakMinor,
    lowMinor: peakMinor - some(),
    marginMinor,
    marginLevel: marginMinor === 0 ? 0 : Math.random() * 500,
  };
}

function accountsFrom(first: number, count: number): Map<string, Values> {
  return new Map(Array.from({ length: count }, (_, index) => [String(first + index), randomValues()]));
}

/** Computes the value by which `sort` orders an account with these values; null: none. */
function valueOf(sort: AccountSort, values: Values): number | null {
  const { equityMinor, balanceMinor, dayStartMinor, dayLowMinor, peakMinor, lowMinor } = values;
  switch (sort) {
    case "balance":
      return balanceMinor;
    case "equity":
      return equityMinor;
    case "profit":
      return equityMinor - balanceMinor;
    case "dayChange":
      return equityMinor - dayStartMinor;
    case "dailyDrawdown":
      return (dayStartMinor - dayLowMinor) / dayStartMinor;
    case "totalDrawdown":
      return (peakMinor - lowMinor) / peakMinor;
    case "marginLevel":
      return values.marginMinor > 0 ? values.marginLevel : null;
    default:
      return null;
  }
}

async function fill(serverId: string, accounts: ReadonlyMap<string, Values>): Promise<void> {
  await store.upsertStatuses(
    [...accounts.keys()].map((accountNumber) => ({
      account: { serverId, accountNumber },
      version: 1,
      status: "active",
      accountName: `Trader ${accountNumber}`,
    })),
  );
  await store.write(
    [...accounts].map(([accountNumber, values]) => minuteOf(serverId, accountNumber, values)),
    kept,
  );
}

async function allPages(
  query: { serverId: string; sort: AccountOrder },
  between: () => Promise<void> = () => Promise.resolve(),
): Promise<RankedAccount[]> {
  const found: RankedAccount[] = [];
  let after: { value: string | null; accountNumber: string } | null = null;
  for (;;) {
    const page: RankedAccount[] = await ranks.rank({ ...query, filters: {}, after, limit: 150 });
    found.push(...page);
    const last = page.at(-1);
    if (last === undefined) return found;
    after = { value: last.value, accountNumber: last.accountNumber };
    await between();
  }
}

it("the ranking sorts 2,000 accounts by every value as a naive sort does, in both directions, over all pages", async () => {
  const serverId = randomUUID();
  const accounts = accountsFrom(100_000, 2_000);
  await fill(serverId, accounts);
  await fill(randomUUID(), new Map([["999999", randomValues()]]));
  for (const sort of ACCOUNT_SORTS.filter((one) => one !== "created" && one !== "number")) {
    for (const order of [sort, `-${sort}`] as const) {
      const sign = order === sort ? 1 : -1;
      const naive = [...accounts]
        .map(([accountNumber, values]) => ({ accountNumber, value: valueOf(sort, values) }))
        .toSorted((a, b) => {
          if (a.value === null || b.value === null) {
            return (
              Number(a.value === null) - Number(b.value === null) || a.accountNumber.localeCompare(b.accountNumber)
            );
          }
          return sign * (a.value - b.value) || a.accountNumber.localeCompare(b.accountNumber);
        });
      const found = await allPages({ serverId, sort: order });
      expect(found.map(({ accountNumber }) => accountNumber)).toEqual(naive.map(({ accountNumber }) => accountNumber));
    }
  }
});

it("the ranking shows every account with an unchanged value exactly once, while the values of other accounts change between the pages", async () => {
  const serverId = randomUUID();
  const accounts = accountsFrom(100_000, 2_000);
  await fill(serverId, accounts);
  const moving = [...accounts.keys()].filter((_, index) => index % 3 === 0);
  const found = await allPages({ serverId, sort: "-equity" }, async () => {
    await fill(serverId, new Map(moving.map((accountNumber) => [accountNumber, randomValues()])));
  });
  const unchanged = new Set([...accounts.keys()].filter((_, index) => index % 3 !== 0));
  const shown = found.map(({ accountNumber }) => accountNumber).filter((accountNumber) => unchanged.has(accountNumber));
  expect(shown).toHaveLength(unchanged.size);
  expect(new Set(shown)).toEqual(unchanged);
});

it("the ranking filters by status, number, name, creation time and values, and counts the accounts that match", async () => {
  const serverId = randomUUID();
  const accounts = accountsFrom(200_000, 50);
  await fill(serverId, accounts);
  const changed = { account: { serverId, accountNumber: "200007" }, version: 2, accountName: "100%_sure" };
  await store.upsertStatuses([{ ...changed, status: "disabled" }]);
  const descriptions = createAccountDescriptions(database);
  const described = (accountNumber: string) => ({
    accountName: "an older name",
    createdAt: accountNumber === "200009" ? "2026-03-05T00:00:00.000Z" : "2026-01-05T00:00:00.000Z",
  });
  const read = (asked: readonly AccountRef[]) =>
    Promise.resolve(asked.map(({ accountNumber }) => described(accountNumber)));
  while (await describeAccounts(descriptions, read));
  const numbers = async (filters: Parameters<AccountRanks["count"]>[1]): Promise<string[]> => {
    const page = { sort: "-equity", after: null, limit: 100 } as const;
    const found = await ranks.rank({ serverId, filters, ...page });
    expect(await ranks.count(serverId, filters)).toBe(found.length);
    return found.map(({ accountNumber }) => accountNumber).toSorted((a, b) => a.localeCompare(b));
  };
  const matching = (matches: (values: Values) => boolean): string[] =>
    [...accounts].filter(([, values]) => matches(values)).map(([accountNumber]) => accountNumber);
  expect(await numbers({ status: "disabled" })).toEqual(["200007"]);
  expect(await numbers({ search: "0%_S" })).toEqual(["200007"]);
  expect(await numbers({ search: "00012" })).toEqual(["200012"]);
  expect(await numbers({ createdFrom: "2026-03-01T00:00:00.000Z" })).toEqual(["200009"]);
  expect(await numbers({ equityMin: 700, equityMax: 800 })).toEqual(
    matching(({ equityMinor }) => equityMinor >= 70_000 && equityMinor <= 80_000),
  );
  expect(await numbers({ dailyDrawdownMin: 20 })).toEqual(
    matching(({ dayStartMinor, dayLowMinor }) => ((dayStartMinor - dayLowMinor) / dayStartMinor) * 100 >= 20),
  );
  expect(await numbers({ marginLevelMax: 200 })).toEqual(
    matching(({ marginMinor, marginLevel }) => marginMinor > 0 && marginLevel <= 200),
  );
});

it("the ranking lists accounts without a stored minute last, and leaves out deleted accounts", async () => {
  const serverId = randomUUID();
  await fill(
    serverId,
    new Map([
      ["300001", randomValues()],
      ["300002", randomValues()],
    ]),
  );
  const fresh = { account: { serverId, accountNumber: "300000" }, version: 1, accountName: "New" };
  await store.upsertStatuses([{ ...fresh, status: "active" }]);
  await store.deleteAccount({ serverId, accountNumber: "300002" });
  for (const sort of ["equity", "-equity"] as const) {
    const found = await allPages({ serverId, sort });
    expect(found.map(({ accountNumber, stored }) => [accountNumber, stored === null])).toEqual([
      ["300001", false],
      ["300000", true],
    ]);
  }
});

it("the summary of a server has the exact sum of the equity at the last stored minutes, and at the start of the day", async () => {
  const [first, empty] = [randomUUID(), randomUUID()];
  const accounts = accountsFrom(400_000, 100);
  await fill(first, accounts);
  const sum = (field: "equityMinor" | "dayStartMinor"): number =>
    [...accounts.values()].reduce((minor, values) => minor + values[field], 0) / 100;
  const [known, none] = await ranks.summaries([first, empty]);
  expect(known).toMatchObject({ accounts: 100, equity: sum("equityMinor"), dayStartEquity: sum("dayStartMinor") });
  expect(none).toEqual({ accounts: 0, equity: 0, dayStartEquity: 0, measuredAt: null });
});
