/**
 * Templates on two risk processes, with a stand-in for the account service. What an organization
 * sees through the API is tested in test/e2e/risk-templates.test.ts.
 */
import { randomUUID } from "node:crypto";

import {
  accountKey,
  type AccountEvent,
  CommandEvent,
  type RiskRule,
  type RiskTemplateSelection,
  TOPICS,
  type TopicContract,
} from "@kapi/contracts";
import { createKafka, type KafkaConnection, type Producer, startLogReader, startProducer } from "@kapi/kafka";
import { startTestStack, type TestStack } from "@kapi/local/test-stack";
import { type Database, startPool, statement } from "@kapi/postgres";
import { createLogger, Scope } from "@kapi/runtime";
import { commandMessage, createTestEnvironment, eventually, valuation } from "@kapi/testkit";
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";

import { type AccountServer, type StandInAccount, startAccountServer } from "./account-server.ts";

const INITIAL_MINOR = 1_000_000;
const TIMEOUT_MS = 60_000;
/** Accounts of the test that kills processes: more than the 1,000 of one round of a search. */
const MANY = 1_200;

interface VersionRow {
  readonly account_number: string;
  readonly version: number;
  readonly template_name: string | null;
  readonly template_version: number | null;
  readonly rules: readonly { readonly rule: RiskRule }[];
}
const VERSIONS = statement<VersionRow>(
  "test-versions",
  `select account_number, version, template_name, template_version, rules from rule_sets
   where server_id = $1 and active_from_offset is not null order by account_number, version`,
);
const UNFINISHED = statement<{ unfinished: number }>(
  "test-unfinished",
  `select ((select count(*) from template_accounts where server_id = $1)
     + (select count(*) from rule_sets where server_id = $1 and active_from_offset is null)
     + (select count(*) from templates where server_id = $1
        and (from_template_after is not null or selected_after is not null)))::int as unfinished`,
);

const ALERTS = statement<{ rule_id: string; rule_version: number }>(
  "test-alerts",
  "select rule_id, rule_version from alerts where server_id = $1 and account_number = $2",
);

const scope = new Scope({ stopDeadlineMs: 30_000 });
const logger = createLogger({ service: "test", level: "silent" });
const organizationId = randomUUID();
let serverId: string;
let accounts: AccountServer;
let kafka: KafkaConnection;
let producer: Producer;
let stack: TestStack;
let database: Database;

beforeAll(async () => {
  const environment = await createTestEnvironment({ partitions: 3, needs: ["kafka", "postgres", "redis"] });
  await scope.start("environment", () => ({ value: null, stop: () => environment.stop() }));
  const measuredAt = new Date().toISOString();
  accounts = await startAccountServer({
    initialBalanceMinor: INITIAL_MINOR,
    valuationOf: (server, accountNumber) => ({
      ...valuation({ serverId: server, accountNumber, measuredAt, balanceMinor: INITIAL_MINOR }),
      netDepositsMinor: 0,
    }),
  });
  await scope.start("accounts", () => ({ value: null, stop: () => accounts.stop() }));
  kafka = createKafka({
    brokers: environment.kafkaBrokers.split(","),
    clientId: "test",
    topicPrefix: environment.topicPrefix,
    logger,
  });
  producer = await scope.start("producer", () => startProducer(kafka));
  stack = await scope.start("risk", async () => {
    const value = await startTestStack({
      services: ["risk"],
      twice: ["risk"],
      environment,
      env: { all: { ACCOUNT_URL: accounts.url, CHECKPOINT_INTERVAL_MS: "300", KAFKA_SESSION_TIMEOUT_MS: "3000" } },
    });
    return { value, stop: () => value.stop() };
  });
  database = await scope.start("database", () =>
    startPool({ connectionString: environment.postgresUrl, schema: "risk", applicationName: "test", logger }),
  );
});

afterAll(() => scope.stop());

beforeEach(() => {
  serverId = randomUUID();
  accounts.accounts.clear();
  accounts.isUnavailable = false;
});

function limit(percent: number): RiskRule {
  return { id: "max", type: "maxLoss", limit: { percent }, action: "notify" };
}

let numbers = 10_000_000;
function addAccount(accountName: string, status: StandInAccount["status"] = "active"): string {
  numbers += 1;
  const accountNumber = String(numbers);
  accounts.accounts.set(accountNumber, { accountNumber, accountName, status });
  return accountNumber;
}

/** Changes an account, and announces the change. */
async function announce(type: AccountEvent["type"], account: StandInAccount): Promise<void> {
  const { accountNumber } = account;
  if (type === "account.deleted") accounts.accounts.delete(accountNumber);
  else accounts.accounts.set(accountNumber, account);
  const event = {
    eventId: randomUUID(),
    organizationId,
    serverId,
    occurredAt: new Date().toISOString(),
    accountSequence: 1,
    type,
    accountId: randomUUID(),
    version: 1,
    leverage: 100,
    ...account,
    ...(type === "account.deleted" ? { status: "deleted" } : {}),
  };
  await producer.send(TOPICS.accountEvents, { key: accountKey(serverId, accountNumber), value: JSON.stringify(event) });
}

type Asked = Pick<Parameters<typeof commandMessage>[0] & object, "operation" | "payload">;

/** Sends a command, and waits for its final state. */
async function carryOut(command: Asked, accountNumber: string | null = null): Promise<CommandEvent> {
  const message = commandMessage({
    serverId,
    organizationId,
    accountNumber,
    ...(accountNumber === null ? { managedAccountId: null } : {}),
    ...command,
  });
  const key = accountNumber === null ? serverId : accountKey(serverId, accountNumber);
  await producer.send(TOPICS.commandsRisk, { key, value: JSON.stringify(message) });
  return eventually(
    async () => {
      const events = (await readAll(TOPICS.commandEvents)).map((value) => CommandEvent.parse(JSON.parse(value)));
      const final = events.find((one) => one.commandId === message.commandId && one.settlement !== null);
      if (final === undefined) throw new Error(`${message.operation} is not final`);
      return final;
    },
    { timeoutMs: TIMEOUT_MS, intervalMs: 100 },
  );
}

async function setTemplate(
  name: string,
  rules: readonly RiskRule[],
  appliesTo: RiskTemplateSelection,
  newAccounts = false,
): Promise<Record<string, unknown> | null> {
  const payload = { name, rules: [...rules], appliesTo, newAccounts };
  const final = await carryOut({ operation: "risk.set_template", payload });
  expect(final.status).toBe("succeeded");
  return final.result;
}

async function readAll(topic: TopicContract): Promise<string[]> {
  const all: string[] = [];
  const reader = await startLogReader(kafka, {
    topic,
    from: "beginning",
    onBatch: (_partition, messages) => {
      for (const { value } of messages) all.push(value.toString("utf8"));
    },
    logger,
    fatal: (error) => {
      throw error;
    },
  });
  await reader.value.caughtUp;
  await reader.stop();
  return all;
}

/**
 * Waits until all searches for accounts of templates have ended, and no account of the server waits
 * for a template or for the activation of its rules.
 */
async function applied(): Promise<void> {
  await eventually(
    async () => {
      const [row] = await database.query(UNFINISHED, [serverId]);
      expect(row?.unfinished).toBe(0);
    },
    { timeoutMs: TIMEOUT_MS, intervalMs: 50 },
  );
}

/**
 * The active and formerly active versions of each account's rules, oldest first:
 * `<template>/<its version> <limit in percent>`, or `own <limit in percent>` without a template.
 */
async function versions(): Promise<Record<string, string[]>> {
  const found: Record<string, string[]> = {};
  for (const row of await database.query(VERSIONS, [serverId])) {
    const percents = row.rules.map(({ rule }) => ("limit" in rule ? String(rule.limit.percent) : ""));
    const template = row.template_name === null ? "own" : `${row.template_name}/${row.template_version}`;
    (found[row.account_number] ??= []).push(`${template} ${percents.join(" ")}`);
  }
  return found;
}

it("a template gives its rules to the accounts that it selects by status and name, and to no other", async () => {
  const one = addAccount("Phase 1 Ada");
  const disabled = addAccount("Phase 1 Bob", "disabled");
  addAccount("phase 1 in lower case");
  addAccount("Funded Phase 1");
  addAccount("Phase 1 archived", "archived");
  addAccount("Phase 1 pending", "pending");
  const selection: RiskTemplateSelection = { status: ["active", "disabled"], nameStartsWith: "Phase 1" };
  expect(await setTemplate("first", [limit(10)], selection)).toEqual({ version: 1, accounts: 2 });
  await applied();
  expect(await versions()).toEqual({ [one]: ["first/1 10"], [disabled]: ["first/1 10"] });
});

it("a template never replaces rules that were set on an account, also if they are not active yet", async () => {
  const own = addAccount("Phase 1 own");
  const other = addAccount("Phase 1 other");
  const set = carryOut({ operation: "risk.set_rules", payload: { rules: [limit(3)] } }, own);
  await Promise.all([set, setTemplate("first", [limit(10)], { nameStartsWith: "Phase 1" }, true)]);
  await applied();
  const before = await versions();
  expect(before[own]?.at(-1)).toBe("own 3");
  expect(before[other]).toEqual(["first/1 10"]);
  await setTemplate("first", [limit(11)], { nameStartsWith: "Phase 1" }, true);
  const removed = await carryOut({ operation: "risk.delete_rules", payload: {} }, own);
  expect(removed.status).toBe("succeeded");
  await announce("account.updated", { accountNumber: own, accountName: "Phase 1 renamed", status: "active" });
  await applied();
  expect((await versions())[own]).toEqual([...(before[own] ?? []), "own "]);
});

it("deleting rules with `useTemplate` gives an account the rules of the matching template, and fails if no template matches", async () => {
  const account = addAccount("Phase 1 Ada");
  const other = addAccount("Funded");
  await carryOut({ operation: "risk.set_rules", payload: { rules: [limit(3)] } }, account);
  await setTemplate("first", [limit(10)], { nameStartsWith: "Phase 1" });
  await applied();
  const back = await carryOut({ operation: "risk.delete_rules", payload: { useTemplate: true } }, account);
  expect(back.status).toBe("succeeded");
  await setTemplate("first", [limit(12)], { nameStartsWith: "Phase 1" });
  await applied();
  expect(await versions()).toEqual({ [account]: ["own 3", "first/1 10", "first/2 12"] });
  const none = await carryOut({ operation: "risk.delete_rules", payload: { useTemplate: true } }, other);
  expect(none).toMatchObject({ status: "failed", errorCode: "INVALID_STATE_TRANSITION" });
});

it("a template applies to accounts that are created, renamed or enabled later only if it has `newAccounts`", async () => {
  addAccount("Phase 1 Ada", "disabled");
  await setTemplate("first", [limit(10)], { nameStartsWith: "Phase 1", status: ["active"] }, true);
  await setTemplate("existing", [limit(20)], { nameStartsWith: "Funded" });
  await applied();
  expect(await versions()).toEqual({});
  const created = { accountNumber: "20000001", accountName: "Phase 1 Bob", status: "active" } as const;
  const renamed = { accountNumber: "20000002", accountName: "Other", status: "active" } as const;
  const enabled = { accountNumber: "20000003", accountName: "Phase 1 Eve", status: "disabled" } as const;
  for (const account of [created, renamed, enabled]) await announce("account.created", account);
  await announce("account.created", { accountNumber: "20000004", accountName: "Funded Ada", status: "active" });
  await announce("account.updated", { ...renamed, accountName: "Phase 1 Mia" });
  await announce("account.enabled", { ...enabled, status: "active" });
  const expected = { 20000001: ["first/1 10"], 20000002: ["first/1 10"], 20000003: ["first/1 10"] };
  await eventually(async () => expect(await versions()).toEqual(expected), { timeoutMs: TIMEOUT_MS });
  await applied();
  expect(await versions()).toEqual(expected);
});

it("a renamed account gets the rules of the template that matches its new name, and keeps its template if no template matches", async () => {
  const accountNumber = addAccount("Phase 1 Ada");
  await setTemplate("one", [limit(10)], { nameStartsWith: "Phase 1" }, true);
  await setTemplate("two", [limit(20)], { nameStartsWith: "Phase 2" }, true);
  await applied();
  const rename = async (accountName: string): Promise<void> => {
    await announce("account.updated", { accountNumber, accountName, status: "active" });
  };
  await rename("Phase 2 Ada");
  await eventually(async () => expect((await versions())[accountNumber]).toEqual(["one/1 10", "two/1 20"]));
  await rename("Phase 1 Ada");
  await eventually(async () => expect((await versions())[accountNumber]).toEqual(["one/1 10", "two/1 20", "one/1 10"]));
  await rename("Nobody");
  await setTemplate("one", [limit(11)], { nameStartsWith: "Phase 1" }, true);
  await applied();
  expect((await versions())[accountNumber]?.at(-1)).toBe("one/2 11");
});

it("of two templates that match an account, the template that was created first applies", async () => {
  const account = addAccount("Phase 1 Ada");
  await setTemplate("wide", [limit(10)], { status: ["active"] });
  await setTemplate("narrow", [limit(20)], { nameStartsWith: "Phase 1" });
  await applied();
  // If the search for `narrow` found the account first, its first rules are those of `narrow`.
  expect((await versions())[account]?.at(-1)).toBe("wide/1 10");
  await carryOut({ operation: "risk.delete_template", payload: { name: "wide", accountRules: "keep" } });
  await setTemplate("narrow", [limit(21)], { nameStartsWith: "Phase 1" });
  await applied();
  await setTemplate("wide", [limit(11)], { status: ["active"] });
  await applied();
  expect((await versions())[account]?.slice(-2)).toEqual(["wide/1 10", "narrow/2 21"]);
});

it("deleting a template keeps or removes the rules of its accounts, as the request says", async () => {
  const account = addAccount("Phase 1 Ada");
  const template = { operation: "risk.delete_template" } as const;
  await setTemplate("kept", [limit(10)], { nameStartsWith: "Phase 1" }, true);
  await applied();
  const deleted = await carryOut({ ...template, payload: { name: "kept", accountRules: "keep" } });
  expect(deleted).toMatchObject({ status: "succeeded", result: { version: 2 } });
  await announce("account.updated", { accountNumber: account, accountName: "Phase 1 Bob", status: "active" });
  await applied();
  expect(await versions()).toEqual({ [account]: ["kept/1 10"] });
  await setTemplate("removed", [limit(20)], { nameStartsWith: "Phase 1" });
  await applied();
  await carryOut({ ...template, payload: { name: "removed", accountRules: "remove" } });
  // The template is created again at once. The command waits until the former rules are removed.
  await setTemplate("removed", [limit(30)], { nameStartsWith: "Phase 1" });
  await applied();
  const history = ["kept/1 10", "removed/1 20", "removed/2 ", "removed/3 30"];
  expect((await versions())[account]).toEqual(history);
  // `kept` is created again, so now `removed` is the template that was created first.
  await setTemplate("kept", [limit(12)], { nameStartsWith: "Phase 1" });
  await applied();
  expect((await versions())[account]).toEqual(history);
});

it("a template waits while the account service fails, and applies afterwards", async () => {
  const account = addAccount("Phase 1 Ada");
  const fund = addAccount("Funded");
  await setTemplate("first", [limit(10)], { nameStartsWith: "Phase 1" }, true);
  await applied();
  accounts.isUnavailable = true;
  await announce("account.updated", { accountNumber: fund, accountName: "Phase 1 Eve", status: "active" });
  await eventually(async () => {
    const [row] = await database.query(UNFINISHED, [serverId]);
    expect(row?.unfinished).toBeGreaterThan(0);
  });
  accounts.isUnavailable = false;
  await applied();
  expect(await versions()).toEqual({ [account]: ["first/1 10"], [fund]: ["first/1 10"] });
});

it(
  "a template gives every account exactly one version of rules while processes are killed; a deleted account ends with none",
  async () => {
    const all = Array.from({ length: MANY }, (_, index) => addAccount(`Phase 1 ${index}`));
    const deleted = new Set(all.filter((_, index) => index % 10 === 0));
    await setTemplate("first", [limit(10)], { nameStartsWith: "Phase 1" }, true);
    let kills = 0;
    await eventually(
      async () => {
        const done = Object.keys(await versions()).length;
        if (done > 20 * (kills + 1) && kills < 2) {
          const victim = stack.process(kills === 0 ? "risk" : "risk-2");
          kills += 1;
          victim.kill("SIGKILL");
          await victim.ended();
          await victim.restart();
        }
        if (kills === 1) {
          for (const accountNumber of deleted) {
            if (!accounts.accounts.has(accountNumber)) continue;
            await announce("account.deleted", { accountNumber, accountName: "Phase 1", status: "deleting" });
          }
        }
        expect(done).toBeGreaterThanOrEqual(MANY - deleted.size);
      },
      { timeoutMs: TIMEOUT_MS * 2, intervalMs: 20 },
    );
    expect(kills).toBe(2);
    await applied();
    const expected = Object.fromEntries(all.filter((one) => !deleted.has(one)).map((one) => [one, ["first/1 10"]]));
    await eventually(async () => expect(await versions()).toEqual(expected), { timeoutMs: TIMEOUT_MS });
    // The rules of the template are compared with valuations, also after the restarts.
    const [accountNumber = ""] = Object.keys(expected);
    const measuredAt = new Date().toISOString();
    const loss = valuation({ serverId, accountNumber, measuredAt, equityMinor: 0.9 * INITIAL_MINOR });
    const value = JSON.stringify({ ...loss, netDepositsMinor: 0 });
    await producer.send(TOPICS.tradingValuations, { key: accountKey(serverId, accountNumber), value });
    await eventually(async () =>
      expect(await database.query(ALERTS, [serverId, accountNumber])).toEqual([{ rule_id: "max", rule_version: 1 }]),
    );
  },
  TIMEOUT_MS * 3,
);
