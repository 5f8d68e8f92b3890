/**
 * Two risk processes on random markets, while they are killed and paused: each breach that the log
 * has is found once, and each action is one command.
 */
import { randomUUID } from "node:crypto";

import { accountKey, CommandEvent, CommandMessage, type RiskRule, RiskEvent, TOPICS, Valuation } from "@kapi/contracts";
import {
  createKafka,
  endOffsets,
  type KafkaConnection,
  type Producer,
  startLogReader,
  startProducer,
} from "@kapi/kafka";
import { delay } from "@kapi/kernel";
import { startTestStack, type TestStack } from "@kapi/local/test-stack";
import { type Database, startPool, statement } from "@kapi/postgres";
import { createLogger, Scope } from "@kapi/runtime";
import { anyAccountNumber, commandMessage, createTestEnvironment, eventually, valuation } from "@kapi/testkit";
import { afterAll, beforeAll, expect, it } from "vitest";
import { xoroshiro128plus } from "pure-rand/generator/xoroshiro128plus";
import type { TopicContract } from "@kapi/contracts";

import { startAccountServer } from "./account-server.ts";
import { alertsByWholePast } from "./whole-past.ts";

const SEED = Number(process.env["RISK_SEED"] ?? Date.now() % 1_000_000);
const START_MS = Date.parse("2026-11-20T09:00:00.000Z");
const INITIAL_MINOR = 1_000_000;
const ACCOUNTS = 16;
const ROUNDS = 24;
const VALUATIONS_PER_ROUND = 120;
/** Above the session timeout, so that another process takes the partitions of a paused one. */
const PAUSE_MS = 4_000;
const TIMEOUT_MS = 150_000;

interface FoundRow {
  readonly id: string;
  readonly account_number: string;
  readonly rule_id: string;
  readonly period: string;
  readonly partition: number | null;
  readonly log_offset: number | null;
  readonly command_id: string | null;
}
const FOUND = statement<FoundRow>(
  "test-found",
  `select id, account_number, rule_id, period, valuation_partition as partition,
     valuation_offset::float8 as log_offset, command_id
   from alerts where kind = 'breached'`,
);
const ACTIVE = statement<{ account_number: string; log_offset: number }>(
  "test-active",
  `select account_number, active_from_offset::float8 as log_offset from rule_sets where active_from_offset is not null`,
);
const POSITIONS = statement<{ number: number; next_offset: number }>(
  "test-positions",
  `select number, next_offset::float8 as next_offset from partitions`,
);

interface Account {
  readonly accountNumber: string;
  readonly rules: readonly RiskRule[];
  equityMinor: number;
  balanceMinor: number;
  netDepositsMinor: number;
  nowMs: number;
}

const scope = new Scope({ stopDeadlineMs: 30_000 });
const logger = createLogger({ service: "test", level: "silent" });
const random = xoroshiro128plus(SEED);
const serverId = randomUUID();
const organizationId = randomUUID();
let kafka: KafkaConnection;
let producer: Producer;
let stack: TestStack;
let database: Database;

beforeAll(async () => {
  const environment = await createTestEnvironment({ partitions: 3, needs: ["kafka", "postgres", "redis"] });
  await scope.start("environment", () => ({ value: null, stop: () => environment.stop() }));
  const measuredAt = new Date(START_MS).toISOString();
  const accounts = await startAccountServer({
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
      env: {
        all: { ACCOUNT_URL: accounts.url, CHECKPOINT_INTERVAL_MS: "300", KAFKA_SESSION_TIMEOUT_MS: "3000" },
      },
    });
    return { value, stop: () => value.stop() };
  });
  database = await scope.start("database", () =>
    startPool({ connectionString: environment.postgresUrl, schema: "risk", applicationName: "test", logger }),
  );
});

afterAll(() => scope.stop());

/** A whole number from `least` to `most`. */
function between(least: number, most: number): number {
  return least + ((random.next() >>> 0) % (most - least + 1));
}

function someRules(): RiskRule[] {
  const action = (): "notify" | "disable" => (between(0, 1) === 0 ? "notify" : "disable");
  const basis = (["equity", "balance", "higher"] as const)[between(0, 2)] ?? "equity";
  const trailing = (["equity", "balance"] as const)[between(0, 1)] ?? "equity";
  return [
    {
      id: "daily",
      type: "dailyLoss",
      limit: { percent: between(5, 40) / 10 },
      basis,
      timeZone: "UTC",
      dayStart: "00:00",
      action: action(),
    },
    { id: "trailing", type: "maxLoss", limit: { amount: between(300, 900) }, trailing, action: action() },
    {
      id: "target",
      type: "profitTarget",
      target: { percent: between(20, 90) / 10 },
      basis: "equity",
      action: action(),
    },
  ];
}

async function setRules({ accountNumber, rules }: Account): Promise<string> {
  const message = commandMessage({
    serverId,
    organizationId,
    accountNumber,
    operation: "risk.set_rules",
    payload: { rules },
  });
  const value = JSON.stringify(message);
  await producer.send(TOPICS.commandsRisk, { key: accountKey(serverId, accountNumber), value });
  return message.commandId;
}

/** The next valuation of an account. */
function nextValuation(account: Account): Valuation {
  const deposit = between(0, 12) === 0 ? between(-500, 500) * 100 : 0;
  account.nowMs += between(0, 40) * 60_000;
  account.equityMinor += between(-15_000, 14_500) + deposit;
  account.balanceMinor += between(-4_000, 4_000) + deposit;
  account.netDepositsMinor += deposit;
  const { accountNumber, equityMinor, balanceMinor, netDepositsMinor, nowMs } = account;
  const measuredAt = new Date(nowMs).toISOString();
  return { ...valuation({ serverId, accountNumber, measuredAt, equityMinor, balanceMinor }), netDepositsMinor };
}

async function runRound(accounts: readonly Account[]): Promise<void> {
  const sends: Promise<unknown>[] = [];
  const send = (one: Valuation): void => {
    const message = { key: accountKey(serverId, one.accountNumber), value: JSON.stringify(one) };
    sends.push(producer.send(TOPICS.tradingValuations, message));
  };
  for (let index = 0; index < VALUATIONS_PER_ROUND; index += 1) {
    const account = accounts[between(0, accounts.length - 1)];
    if (account === undefined) throw new TypeError("no accounts");
    const earlier = nextValuation(account);
    send(earlier);
    // Sometimes a valuation is written twice, with a later one between, as after a lost answer.
    if (between(0, 20) === 0) {
      send(nextValuation(account));
      send(earlier);
    }
  }
  await Promise.all(sends);
}

/** Kills or pauses one of the processes; resolves when it runs again. */
async function disturb(): Promise<void> {
  const victim = stack.process(between(0, 1) === 0 ? "risk" : "risk-2");
  if (between(0, 1) === 0) {
    victim.kill("SIGKILL");
    await victim.ended();
    await victim.restart();
    return;
  }
  victim.kill("SIGSTOP");
  await delay(PAUSE_MS);
  victim.kill("SIGCONT");
}

async function readAll(topic: TopicContract): Promise<{ partition: number; offset: number; value: string }[]> {
  const all: { partition: number; offset: number; value: string }[] = [];
  const reader = await startLogReader(kafka, {
    topic,
    from: "beginning",
    onBatch: (partition, messages) => {
      for (const { offset, value } of messages) {
        all.push({ partition, offset: Number(offset), value: value.toString("utf8") });
      }
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

it(
  `the risk service finds each breach in the log once, and no other, while processes are killed and paused (seed ${SEED})`,
  async () => {
    const accounts = Array.from({ length: ACCOUNTS }, (): Account => ({
      accountNumber: anyAccountNumber(),
      rules: someRules(),
      equityMinor: INITIAL_MINOR,
      balanceMinor: INITIAL_MINOR,
      netDepositsMinor: 0,
      nowMs: START_MS,
    }));
    const commands: string[] = [];
    for (const account of accounts.slice(0, ACCOUNTS / 2)) commands.push(await setRules(account));
    let disturbance = Promise.resolve();
    for (let round = 0; round < ROUNDS; round += 1) {
      if (round % 4 === 1) {
        await disturbance;
        disturbance = disturb();
      }
      const late = accounts[ACCOUNTS / 2 + round];
      if (late !== undefined) commands.push(await setRules(late));
      await runRound(accounts);
      await delay(150);
    }
    await disturbance;

    await eventually(
      async () => {
        const events = (await readAll(TOPICS.commandEvents)).map(({ value }) => CommandEvent.parse(JSON.parse(value)));
        const succeeded = events.filter(({ status }) => status === "succeeded").map(({ commandId }) => commandId);
        // A message is published at least once.
        expect([...new Set(succeeded)].toSorted()).toEqual(commands.toSorted());
      },
      { timeoutMs: 60_000, intervalMs: 500 },
    );
    await eventually(
      async () => {
        const ends = await endOffsets(kafka, TOPICS.tradingValuations);
        const positions = await database.query(POSITIONS, []);
        expect(new Map(positions.map((row) => [row.number, row.next_offset]))).toEqual(
          new Map([...ends].map(([partition, end]) => [partition, Number(end)])),
        );
      },
      { timeoutMs: 60_000, intervalMs: 300 },
    );

    const log = (await readAll(TOPICS.tradingValuations)).map(({ value, partition, offset }) => ({
      partition,
      offset,
      values: Valuation.parse(JSON.parse(value)),
    }));
    const activeFrom = new Map(
      (await database.query(ACTIVE, [])).map((row) => [row.account_number, row.log_offset] as const),
    );
    const expected = accounts.flatMap(({ accountNumber, rules }) => {
      const from = activeFrom.get(accountNumber) ?? Number.POSITIVE_INFINITY;
      const own = log.filter(({ offset, values }) => values.accountNumber === accountNumber && offset >= from);
      const seed = {
        measuredAtMs: START_MS,
        equityMinor: INITIAL_MINOR,
        balanceMinor: INITIAL_MINOR,
        netDepositsMinor: 0,
      };
      const all = own.map(({ values, partition, offset }) => ({
        at: `${partition}/${offset}`,
        values: {
          measuredAtMs: Date.parse(values.measuredAt),
          equityMinor: values.equityMinor,
          balanceMinor: values.balanceMinor,
          netDepositsMinor: values.netDepositsMinor ?? null,
        },
      }));
      const alerts = alertsByWholePast([{ rules, seed }, ...all], { initialBalanceMinor: INITIAL_MINOR });
      return alerts.map(({ ruleId, period, at }) => `${accountNumber} ${ruleId} ${period} ${at}`);
    });
    const rows = await database.query(FOUND, []);
    const found = rows.map(
      (row) => `${row.account_number} ${row.rule_id} ${row.period} ${row.partition}/${row.log_offset}`,
    );
    expect(expected.length).toBeGreaterThan(ACCOUNTS);
    expect(found.toSorted()).toEqual(expected.toSorted());

    const actions = (await readAll(TOPICS.commandsAccount)).map(({ value }) => CommandMessage.parse(JSON.parse(value)));
    const wanted = rows.flatMap(({ command_id: id }) => (id === null ? [] : [id]));
    expect([...new Set(actions.map(({ commandId }) => commandId))].toSorted()).toEqual(wanted.toSorted());
    const events = (await readAll(TOPICS.riskEvents)).map(({ value }) => RiskEvent.parse(JSON.parse(value)));
    const alerts = events.filter(({ type }) => type !== "risk.evidence_stored");
    expect([...new Set(alerts.map(({ eventId }) => eventId))].toSorted()).toEqual(rows.map(({ id }) => id).toSorted());
  },
  TIMEOUT_MS,
);
