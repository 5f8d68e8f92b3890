/** Lists of the console in PostgreSQL: near limits, the newest breaches, accounts of templates. */
import { randomUUID } from "node:crypto";
import path from "node:path";

import { COMMANDS_MIGRATIONS } from "@kapi/commands";
import type { RiskRule } from "@kapi/contracts";
import { systemClock } from "@kapi/kernel";
import { type Database, migrate, startPool, statement } from "@kapi/postgres";
import { createLogger, Scope } from "@kapi/runtime";
import { createTestEnvironment } from "@kapi/testkit";
import { afterAll, beforeAll, expect, it } from "vitest";

import { DayCalendars } from "../src/domain/day.ts";
import { activate, emptyState, evaluate } from "../src/domain/evaluation.ts";
import type { LimitReader, NearLimitQuery } from "../src/domain/ports.ts";
import { toRule } from "../src/domain/rule.ts";
import { limitsLeft, listNearLimits } from "../src/operations/list-near-limits.ts";
import { createRecentBreachReader } from "../src/outbound/postgres/breach-reader.ts";
import { createEvaluationStore } from "../src/outbound/postgres/evaluation-store.ts";
import { createLimitReader } from "../src/outbound/postgres/limit-reader.ts";
import { createTemplateAccounts } from "../src/outbound/postgres/template-accounts.ts";

const DAILY: RiskRule = {
  id: "daily",
  type: "dailyLoss",
  limit: { amount: 500 },
  basis: "equity",
  timeZone: "UTC",
  dayStart: "00:00",
  action: "disable",
};
const MAX: RiskRule = { id: "max", type: "maxLoss", limit: { amount: 1_000 }, action: "disable" };
const TARGET: RiskRule = {
  id: "target",
  type: "profitTarget",
  target: { amount: 1 },
  basis: "equity",
  action: "notify",
};
const INITIAL_MINOR = 1_000_000;
const DAY_MS = 86_400_000;

const INSERT_RULES = statement<never>(
  "test-insert-rules",
  `insert into rule_sets (server_id, account_number, version, organization_id, account_id, partition, rules, seed,
     initial_balance_minor, command_id, created_at, active_from_offset, active_from)
   values ($1, $2, 1, $3, $3, 0, $4::json, '{}'::json, $5, $6, now(), 0, now())`,
);
const INSERT_BREACH = statement<never>(
  "test-insert-breach",
  `insert into alerts (id, kind, organization_id, server_id, account_number, rule_id, rule_since, period, rule_version,
     rule, reference_minor, base_minor, threshold_minor, value_minor, equity_minor, balance_minor, measured_at,
     recorded_at)
   values ($1, $2, $3, $4, $5, 'daily', 1, $6::text, 1, $7::json, 0, 0, 0, 0, 0, 0, $6::text::timestamptz, now())`,
);

const INSERT_TEMPLATE = statement<never>(
  "test-insert-template",
  `insert into templates (server_id, name, version, first_version, state, organization_id, rules, applies_to,
     new_accounts, command_id, created_at, updated_at, partition)
   values ($1, 'standard', 2, 1, $2, $1, '[]'::json, '{}'::json, true, $1, now(), now(), 0)`,
);
// $3 version of the rules, $4 template and $5 its version, $6 whether the rules are active.
const INSERT_VERSION = statement<never>(
  "test-insert-version",
  `insert into rule_sets (server_id, account_number, version, organization_id, account_id, partition, rules, seed,
     initial_balance_minor, command_id, created_at, template_name, template_version, active_from_offset, active_from)
   values ($1, $2, $3, $1, $1, 0, '[]'::json, '{}'::json, 1, gen_random_uuid(), now(), $4, $5,
     case when $6 then 0 end, case when $6 then now() end)`,
);
const INSERT_WAITING = statement<never>(
  "test-insert-waiting",
  `insert into template_accounts (server_id, account_number, template_name, partition, attempts)
   values ($1, $2, 'standard', 0, $3)`,
);

const scope = new Scope();
const logger = createLogger({ service: "test", level: "silent" });
const calendars = new DayCalendars();
let database: Database;
let reader: LimitReader;

beforeAll(async () => {
  const environment = await createTestEnvironment({ needs: ["postgres"] });
  await scope.start("environment", () => ({ value: null, stop: () => environment.stop() }));
  const connectionString = environment.postgresUrl;
  const directory = path.resolve(import.meta.dirname, "../migrations");
  await migrate({ connectionString, schema: "risk", directory, directories: [COMMANDS_MIGRATIONS], logger });
  database = await scope.start("postgres", () =>
    startPool({ connectionString, schema: "risk", applicationName: "test", logger }),
  );
  reader = createLimitReader(database);
});
afterAll(() => scope.stop());

/** Stores an account as its partition's owner does. The account began the day with 10,000. */
async function track(
  serverId: string,
  accountNumber: string,
  equity: number,
  { rules = [DAILY, MAX, TARGET], measuredAtMs = Date.now() }: { rules?: RiskRule[]; measuredAtMs?: number } = {},
): Promise<void> {
  const set = { version: 1, rules: rules.map((rule) => toRule(rule, 1)) };
  const account = { initialBalanceMinor: INITIAL_MINOR };
  const calendarOf = (zone: string, start: string) => calendars.of(zone, start);
  const values = (equityMinor: number) => ({
    measuredAtMs,
    equityMinor,
    balanceMinor: equityMinor,
    netDepositsMinor: 0,
  });
  const state = emptyState();
  activate(state, null, set, account, calendarOf, values(INITIAL_MINOR));
  evaluate(state, set, account, calendarOf, values(Math.round(equity * 100)));
  const stored = JSON.stringify(rules.map((rule) => ({ since: 1, rule })));
  await database.query(INSERT_RULES, [serverId, accountNumber, randomUUID(), stored, INITIAL_MINOR, randomUUID()]);
  const store = createEvaluationStore(database);
  const { token, nextOffset } = await store.acquire(0, "topic", { generation: 1, tokens: new Map() });
  const text = { serverId, accountNumber, version: 1, state: JSON.stringify(state), ...limitsLeft(state, set) };
  await store.checkpoint({ partition: 0, token }, nextOffset + 1, [text]);
}

function near(query: Partial<NearLimitQuery> & { readonly serverIds: readonly string[] }) {
  const all = { type: null, within: null, after: null, limit: 10 } as const;
  return listNearLimits({ reader, clock: systemClock }, { ...all, ...query });
}

it("the list of near limits has each account once, page by page, by the distance from its nearest loss limit, the nearest first", async () => {
  const serverId = randomUUID();
  await track(serverId, "1001", 9_504);
  await track(serverId, "1002", 9_900);
  await track(serverId, "1003", 10_000);
  await track(serverId, "1004", 9_010, { rules: [MAX] });
  await track(randomUUID(), "1005", 9_501);
  const { limits, total } = await near({ serverIds: [serverId] });
  expect(total).toBe(4);
  expect(limits.map(({ accountNumber, rule, leftPercent }) => [accountNumber, rule.id, leftPercent])).toEqual([
    ["1001", "daily", 0.8],
    ["1004", "max", 1],
    ["1002", "daily", 80],
    ["1003", "daily", 100],
  ]);
  expect(limits[0]).toMatchObject({ value: 9_504, threshold: 9_500 });
  const [, second] = limits;
  const rest = await near({ serverIds: [serverId], after: second ?? null });
  expect(rest.limits.map(({ accountNumber }) => accountNumber)).toEqual(["1002", "1003"]);
});

it("the list of near limits can show only the accounts within 1 % of their daily limit, without those that have breached it", async () => {
  const serverId = randomUUID();
  await track(serverId, "2001", 9_505);
  await track(serverId, "2002", 9_505.01);
  await track(serverId, "2003", 9_500);
  await track(serverId, "2004", 9_001, { rules: [MAX] });
  const { limits, total } = await near({ serverIds: [serverId], type: "dailyLoss", within: 1 });
  expect(limits.map(({ accountNumber }) => accountNumber)).toEqual(["2001"]);
  expect(total).toBe(1);
});

it("the list of near limits does not show the daily limit of a day that is over", async () => {
  const serverId = randomUUID();
  await track(serverId, "3001", 9_501, { measuredAtMs: Date.now() - DAY_MS });
  const { limits } = await near({ serverIds: [serverId] });
  expect(limits.map(({ rule, leftPercent }) => [rule.id, leftPercent])).toEqual([["max", 50.1]]);
  expect((await near({ serverIds: [serverId], type: "dailyLoss" })).total).toBe(0);
});

it("the list of recent breaches has the breaches of servers since a time, newest first, without warnings", async () => {
  const [serverId, other] = [randomUUID(), randomUUID()];
  const add = async (server: string, kind: string, at: string): Promise<string> => {
    const id = randomUUID();
    const rule = JSON.stringify(DAILY);
    await database.query(INSERT_BREACH, [id, kind, randomUUID(), server, "4001", at, rule]);
    return id;
  };
  await add(serverId, "breached", "2026-11-26T23:59:59.000Z");
  const first = await add(serverId, "breached", "2026-11-27T00:00:00.000Z");
  const second = await add(serverId, "breached", "2026-11-27T09:00:00.000Z");
  await add(serverId, "warning", "2026-11-27T10:00:00.000Z");
  await add(other, "breached", "2026-11-27T11:00:00.000Z");
  const read = createRecentBreachReader(database);
  const since = "2026-11-27T00:00:00.000Z";
  const found = await read([serverId], since, null, 10);
  expect(found.breaches.map(({ id }) => id)).toEqual([second, first]);
  expect(found.next).toBeNull();
  const page = await read([serverId], since, null, 1);
  expect(page).toMatchObject({ total: 2, breaches: [{ id: second }], next: { id: second } });
  const last = await read([serverId], since, page.next, 1);
  expect(last).toMatchObject({ total: 2, breaches: [{ id: first }], next: null });
});

it("the list of a template's accounts is read page by page, and leaves out the accounts that have rules of their own now", async () => {
  const serverId = randomUUID();
  await database.query(INSERT_TEMPLATE, [serverId, "active"]);
  const add = (
    number: string,
    version: number,
    template: string | null,
    templateVersion: number | null,
    active = true,
  ) => database.query(INSERT_VERSION, [serverId, number, version, template, templateVersion, active]);
  await add("5001", 1, "standard", 1);
  await add("5001", 2, "standard", 2);
  // The account has rules of its own now.
  await add("5002", 1, "standard", 2);
  await add("5002", 2, null, null);
  // The next accounts wait: 5003 for version 2, 5004 for its first rules, 5005 for the activation
  // of its rules, 5006 after a failure.
  await add("5003", 1, "standard", 1);
  await database.query(INSERT_WAITING, [serverId, "5004", 0]);
  await add("5005", 1, "standard", 2, false);
  await add("5006", 1, "other", 1);
  await database.query(INSERT_WAITING, [serverId, "5006", 2]);
  const list = createTemplateAccounts(database);
  const template = { serverId, name: "standard" };
  const { accounts, next } = await list(template, "", 10);
  expect(accounts.map(({ accountNumber, state, templateVersion }) => [accountNumber, state, templateVersion])).toEqual([
    ["5001", "applied", 2],
    ["5003", "waiting", 1],
    ["5004", "waiting", null],
    ["5005", "waiting", 2],
    ["5006", "failed", null],
  ]);
  expect(next).toBeNull();
  // A page may have fewer accounts than the limit although more follow.
  const first = await list(template, "", 2);
  expect(first.accounts.map(({ accountNumber }) => accountNumber)).toEqual(["5001"]);
  expect(first.next).toBe("5002");
  expect((await list(template, "5002", 3)).accounts).toHaveLength(3);
  expect(await list({ serverId, name: "deleted" }, "", 10)).toEqual({ accounts: [], next: null });
});
