/** The topic of the valuations is deleted and created again while a risk process runs. */
import { randomUUID } from "node:crypto";

import { accountKey, type RiskRule, TOPICS } from "@kapi/contracts";
import { createKafka, createTopics, type KafkaConnection, type Producer, startProducer, topicIds } from "@kapi/kafka";
import { startTestStack } from "@kapi/local/test-stack";
import { type Database, startPool, statement } from "@kapi/postgres";
import { createLogger, Scope } from "@kapi/runtime";
import { anyAccountNumber, commandMessage, createTestEnvironment, eventually, valuation } from "@kapi/testkit";
import { afterAll, beforeAll, expect, it } from "vitest";

import { startAccountServer } from "./account-server.ts";

const PARTITIONS = 1;
const INITIAL_MINOR = 1_000_000;
const RULES: RiskRule[] = [{ id: "loss", type: "maxLoss", limit: { amount: 500 }, action: "notify" }];
const DEADLINE_MS = 60_000;
const BREACHES = statement<{ account_number: string }>(
  "test-breaches",
  "select account_number from alerts where kind = 'breached'",
);
const ACTIVE = statement<{ account_number: string }>(
  "test-active",
  "select account_number from rule_sets where active_from_offset is not null",
);
const POSITION = statement<{ next_offset: number }>(
  "test-position",
  "select next_offset::float8 as next_offset from partitions",
);

const scope = new Scope({ stopDeadlineMs: 30_000 });
const logger = createLogger({ service: "test", level: "silent" });
const serverId = randomUUID();
let kafka: KafkaConnection;
let producer: Producer;
let database: Database;

beforeAll(async () => {
  const environment = await createTestEnvironment({ partitions: PARTITIONS, needs: ["kafka", "postgres", "redis"] });
  await scope.start("environment", () => ({ value: null, stop: () => environment.stop() }));
  const accounts = await startAccountServer({
    initialBalanceMinor: INITIAL_MINOR,
    valuationOf: (server, accountNumber) => valuation({ serverId: server, accountNumber, balanceMinor: INITIAL_MINOR }),
  });
  await scope.start("accounts", () => ({ value: null, stop: () => accounts.stop() }));
  const brokers = environment.kafkaBrokers.split(",");
  kafka = createKafka({ brokers, clientId: "test", topicPrefix: environment.topicPrefix, logger });
  producer = await scope.start("producer", () => startProducer(kafka));
  const env = { all: { ACCOUNT_URL: accounts.url, CHECKPOINT_INTERVAL_MS: "300", KAFKA_SESSION_TIMEOUT_MS: "3000" } };
  await scope.start("risk", () => startedStack({ services: ["risk"], environment, env, supervised: true }));
  database = await scope.start("database", () =>
    startPool({ connectionString: environment.postgresUrl, schema: "risk", applicationName: "test", logger }),
  );
});
afterAll(() => scope.stop());

async function startedStack(options: Parameters<typeof startTestStack>[0]) {
  const value = await startTestStack(options);
  return { value, stop: () => value.stop() };
}

async function setRules(accountNumber: string): Promise<void> {
  const organizationId = randomUUID();
  const payload = { rules: RULES };
  const message = commandMessage({ serverId, organizationId, accountNumber, operation: "risk.set_rules", payload });
  const record = { key: accountKey(serverId, accountNumber), value: JSON.stringify(message) };
  await producer.send(TOPICS.commandsRisk, record);
}

async function sendValuation(accountNumber: string, equityMinor: number): Promise<void> {
  const values = valuation({ serverId, accountNumber, equityMinor, balanceMinor: INITIAL_MINOR });
  const record = { key: accountKey(serverId, accountNumber), value: JSON.stringify(values) };
  await producer.send(TOPICS.tradingValuations, record);
}

async function recreate(): Promise<void> {
  const admin = kafka.client().admin();
  await admin.connect();
  await admin.deleteTopics({ topics: [kafka.topicName(TOPICS.tradingValuations)] });
  await admin.disconnect();
  await eventually(async () => expect(await topicIds(kafka, [TOPICS.tradingValuations])).toEqual([null]));
  await createTopics(kafka, { partitions: PARTITIONS, replicationFactor: 1, minInsyncReplicas: 1 });
}

it(
  "after trading.valuations was deleted and recreated, rules apply to the valuations of the new topic",
  async () => {
    const accountNumber = anyAccountNumber();
    await setRules(accountNumber);
    await eventually(async () => expect(await database.query(ACTIVE, [])).toHaveLength(1), { timeoutMs: DEADLINE_MS });
    for (let index = 0; index < 200; index += 1) await sendValuation(accountNumber, INITIAL_MINOR - index);
    await eventually(async () => expect((await database.query(POSITION, []))[0]?.next_offset).toBe(200), {
      timeoutMs: DEADLINE_MS,
    });
    await recreate();
    await sendValuation(accountNumber, INITIAL_MINOR - 60_000);
    const breached = async () => {
      await sendValuation(accountNumber, INITIAL_MINOR - 60_000);
      expect(await database.query(BREACHES, [])).toEqual([{ account_number: accountNumber }]);
    };
    await eventually(breached, { timeoutMs: DEADLINE_MS, intervalMs: 1_000 });
  },
  2 * DEADLINE_MS,
);
