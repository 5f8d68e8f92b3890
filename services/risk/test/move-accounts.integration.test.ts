/**
 * Rules, states and waiting accounts in PostgreSQL, after `trading.valuations` has got more
 * partitions.
 */
import { randomUUID } from "node:crypto";
import path from "node:path";

import { COMMANDS_MIGRATIONS } from "@kapi/commands";
import { accountKey } from "@kapi/contracts";
import { createKafka, type KafkaConnection, partitionOfKey } from "@kapi/kafka";
import { type Database, migrate, startPool, statement } from "@kapi/postgres";
import { createLogger, Scope } from "@kapi/runtime";
import { createTestEnvironment } from "@kapi/testkit";
import { afterAll, beforeAll, expect, it } from "vitest";

import { createEvaluationStore } from "../src/outbound/postgres/evaluation-store.ts";
import { moveAccounts } from "../src/outbound/postgres/move-accounts.ts";

/** Number of partitions of `trading.valuations` before and after the growth. */
const [BEFORE, AFTER] = [4, 12];
const ACCOUNTS = 40;
const TOPIC_ID = "topic";

// $1 server, $2 number, $3 partition, $4 version, $5 offset from which it applies, or null.
const INSERT_RULES = statement<never>(
  "test-insert-rules",
  `insert into rule_sets (server_id, account_number, version, organization_id, account_id, partition, rules, seed,
     initial_balance_minor, command_id, created_at, active_from_offset, active_from)
   values ($1, $2, $4, $1, $1, $3, '[]'::json, '{}'::json, 1, gen_random_uuid(), now(), $5,
     case when $5::bigint is not null then now() end)`,
);
const INSERT_STATE = statement<never>(
  "test-insert-state",
  `insert into account_states (server_id, account_number, partition, version, state)
   values ($1, $2, $3, 1, '{"last":null}'::json)`,
);
const INSERT_WAITING = statement<never>(
  "test-insert-waiting",
  `insert into template_accounts (server_id, account_number, template_name, partition) values ($1, $2, '', $3)`,
);
const WAITING = statement<{ account_number: string; partition: number }>(
  "test-waiting",
  "select account_number, partition from template_accounts",
);

const scope = new Scope();
const logger = createLogger({ service: "test", level: "silent" });
let database: Database;

beforeAll(async () => {
  const environment = await createTestEnvironment({ needs: ["postgres"] });
  await scope.start("environment", () => ({ value: null, stop: () => environment.stop() }));
  const { postgresUrl: connectionString } = environment;
  const directory = path.resolve(import.meta.dirname, "../migrations");
  await migrate({ connectionString, schema: "risk", directory, directories: [COMMANDS_MIGRATIONS], logger });
  database = await scope.start("postgres", () =>
    startPool({ connectionString, schema: "risk", applicationName: "test", logger }),
  );
});

afterAll(() => scope.stop());

/**
 * A connection of a process that has read the number of partitions to which the topics have grown.
 * Null: they never grew.
 */
function kafka(grownTo: number | null): KafkaConnection {
  const growth =
    grownTo === null
      ? null
      : { phase: "done" as const, partitions: grownTo, at: "2026-01-01T00:00:00Z", grownAt: null };
  const watch = { growth, mayPublish: () => true, add: () => () => undefined, onGrown: () => undefined };
  return Object.assign(createKafka({ brokers: ["none:1"], topicPrefix: "", clientId: "test", logger }), {
    growth: watch,
  });
}

it("after a growth each account whose partition changed is moved with its rules and state; its active rules apply from offset 0 there", async () => {
  const serverId = randomUUID();
  const numbers = Array.from({ length: ACCOUNTS }, (_, number) => String(10_000_000 + number));
  const among = (partitions: number) => (key: string) => partitionOfKey(key, partitions);
  const homeOf = (number: string, partitions: number): number => among(partitions)(accountKey(serverId, number));
  await moveAccounts(database, kafka(null), BEFORE, among(BEFORE));
  for (const number of numbers) {
    const place = [serverId, number, homeOf(number, BEFORE)];
    await database.query(INSERT_RULES, [...place, 1, 700]);
    await database.query(INSERT_RULES, [...place, 2, 900]);
    await database.query(INSERT_RULES, [...place, 3, null]);
    await database.query(INSERT_STATE, place);
    await database.query(INSERT_WAITING, place);
  }
  const store = createEvaluationStore(database);
  const former = await store.acquire(0, TOPIC_ID, { generation: 1, tokens: new Map() });

  await moveAccounts(database, kafka(AFTER), AFTER, among(AFTER));

  // A process that owned the partition before the growth can no longer store anything.
  await expect(store.checkpoint({ partition: 0, token: former.token }, 1, [])).rejects.toThrow("another process owns");

  for (let partition = 0; partition < AFTER; partition += 1) {
    const mine = numbers.filter((number) => homeOf(number, AFTER) === partition);
    const found = await store.acquire(partition, TOPIC_ID, { generation: 2, tokens: new Map() });
    expect(found.states.map(({ accountNumber }) => accountNumber).toSorted()).toEqual(mine);
    const active = found.versions.filter(({ version }) => version === 2);
    expect(active.map(({ accountNumber }) => accountNumber)).toEqual(mine);
    expect(active.map(({ activeFromOffset }) => activeFromOffset)).toEqual(
      mine.map(() => (partition < BEFORE ? 900 : 0)),
    );
    const waiting = await store.waiting([partition], ACCOUNTS);
    expect(waiting.map(({ accountNumber }) => accountNumber).toSorted()).toEqual(mine);
  }
  for (const { account_number: number, partition } of await database.query(WAITING, []))
    expect(partition).toBe(homeOf(number, AFTER));
});

it("partitions that `kapi admin partitions grow` did not add are rejected", async () => {
  await expect(moveAccounts(database, kafka(AFTER), 2 * AFTER, () => 0)).rejects.toThrow(
    "only `kapi admin partitions grow` may change the number",
  );
});
