/** The owner of a partition and its rules after pauses, crashes and lost replies. */
import { randomUUID } from "node:crypto";
import path from "node:path";

import { COMMANDS_MIGRATIONS, type CommandStore, startCommandStore } from "@kapi/commands";
import { accountKey, type RiskRule } from "@kapi/contracts";
import { createKafka, RetryableError, startProducer } from "@kapi/kafka";
import { systemClock } from "@kapi/kernel";
import { type Database, migrate, startPool } from "@kapi/postgres";
import { createLogger, Scope } from "@kapi/runtime";
import { anyAccountNumber, createTestEnvironment, eventually, valuation } from "@kapi/testkit";
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";

import { DayCalendars } from "../src/domain/day.ts";
import type { EvaluationStore } from "../src/domain/ports.ts";
import { Evaluator } from "../src/operations/evaluator.ts";
import type { ValuationMessage } from "../src/operations/partition-evaluator.ts";
import { createEvaluationStore } from "../src/outbound/postgres/evaluation-store.ts";
import { createRuleRepository, type RuleRepository } from "../src/outbound/postgres/rule-repository.ts";
import {
  ACTIVE,
  BREACHES,
  FAIL_COMMANDS,
  INITIAL_MINOR,
  LOCK_PARTITION,
  LOCK_STATE,
  MOVE,
  SET_BACK_CLOCK,
  START_MS,
  STATES,
  storeRules,
  VERSIONS,
  WAITING,
} from "./rule-tables.ts";

const MAX_LOSS: RiskRule = { id: "max", type: "maxLoss", limit: { amount: 10 }, action: "disable" };
/** Fencing tokens by partition: no partition has had an owner. */
const NO_TOKENS: ReadonlyMap<number, number> = new Map();

const scope = new Scope({ stopDeadlineMs: 30_000 });
const logger = createLogger({ service: "test", level: "silent" });
const calendars = new DayCalendars();
const serverId = randomUUID();
let database: Database;
let store: EvaluationStore;
let commands: CommandStore;
let rules: RuleRepository;
/** A partition that no earlier test used. */
let partition = 0;

beforeAll(async () => {
  const environment = await createTestEnvironment({ needs: ["kafka", "postgres"], partitions: 1 });
  await scope.start("environment", () => ({ value: null, stop: () => environment.stop() }));
  const { kafkaBrokers, topicPrefix, postgresUrl: connectionString } = environment;
  const directory = path.resolve(import.meta.dirname, "../migrations");
  await migrate({ connectionString, schema: "risk", directory, directories: [COMMANDS_MIGRATIONS], logger });
  database = await scope.start("postgres", () =>
    startPool({ connectionString, schema: "risk", applicationName: "test", logger }),
  );
  const kafka = createKafka({ brokers: kafkaBrokers.split(","), clientId: "test", topicPrefix, logger });
  const producer = await scope.start("producer", () => startProducer(kafka));
  commands = await scope.start("commands", () =>
    startCommandStore({ worker: "risk", database, producer, clock: systemClock, logger }),
  );
  store = createEvaluationStore(database);
  rules = createRuleRepository(database);
});

afterAll(() => scope.stop());

beforeEach(() => {
  partition += 1;
});

/** The end of the log when a member acquires the partition; null: the cluster does not answer. */
let endOfLog: number | null = 0;
/** More than the number of versions of one partition that one round of activations tries. */
const MORE_THAN_A_ROUND = 101;

/** Numbers of accounts that the account service has deleted. */
const deleted = new Set<string>();

/** The evaluator of a process that read these tokens before it joined the group. */
function startMember(
  tokens = NO_TOKENS,
  transact: CommandStore["transact"] = (work) => commands.transact(work),
  topicId = "topic",
) {
  return new Evaluator({
    store,
    tokens,
    commands: { transact },
    calendarOf: (timeZone, dayStart) => calendars.of(timeZone, dayStart),
    clock: systemClock,
    topicId: () => Promise.resolve(topicId),
    endOf: () => (endOfLog === null ? Promise.reject(new Error("no broker answers")) : Promise.resolve(endOfLog)),
    isDeleted: ({ accountNumber }) => Promise.resolve(deleted.has(accountNumber)),
    logger,
  });
}

/** A valuation at an offset, with an equity of `lossMinor` below the initial balance. */
function lossAt(offset: number, accountNumber: string, lossMinor: number): ValuationMessage {
  const measuredAt = new Date(START_MS + offset * 1_000).toISOString();
  const equityMinor = INITIAL_MINOR - lossMinor;
  const values = { ...valuation({ serverId, accountNumber, measuredAt, equityMinor }), netDepositsMinor: 0 };
  const key = accountKey(serverId, accountNumber);
  return { key, value: Buffer.from(JSON.stringify(values)), offset: BigInt(offset) };
}

/** Stores a version of the rules, with its command. No process has made the version active. */
function setRules(accountNumber: string, rule: RiskRule): Promise<void> {
  return storeRules({ database, rules, partition }, { serverId, accountNumber }, rule);
}

it("a process that the group has removed cannot take its partition back from the new owner", async () => {
  const account = anyAccountNumber();
  const [removed, owner] = [startMember(), startMember()];
  removed.assign([partition], 7);
  owner.assign([partition], 8);
  await owner.addValuations(partition, [lossAt(0, account, 0)]);
  await expect(removed.addValuations(partition, [lossAt(0, account, 0)])).rejects.toThrow(RetryableError);
  await owner.addValuations(partition, [lossAt(1, account, 0)]);
  await owner.checkpoint();
  expect((await owner.addValuations(partition, [])).commitOffset()).toBe(2n);
});

it("a process acquires a partition although Kafka has deleted the group, whose generations begin at 1 again", async () => {
  const account = anyAccountNumber();
  const former = startMember();
  former.assign([partition], 500);
  await former.addValuations(partition, [lossAt(0, account, 0)]);
  const next = startMember(await store.tokens());
  next.assign([partition], 1);
  await next.addValuations(partition, [lossAt(0, account, 0)]);
  await next.checkpoint();
  // The former owner does not take the partition back, although its generation is higher.
  await expect(former.addValuations(partition, [lossAt(1, account, 0)])).resolves.toBeDefined();
  await expect(former.checkpoint()).rejects.toThrow(RetryableError);
  await next.addValuations(partition, [lossAt(1, account, 0)]);
  await next.checkpoint();
});

it("valuations are compared with rules whose activation was committed, also if the reply was lost", async () => {
  const account = anyAccountNumber();
  const owner = startMember(NO_TOKENS, async (work) => {
    await commands.transact(work);
    return commands.transact(work);
  });
  owner.assign([partition], 1);
  await setRules(account, MAX_LOSS);
  await owner.activateWaiting();
  await owner.addValuations(partition, [lossAt(0, account, 1_000)]);
  expect(await database.query(BREACHES, [account])).toEqual([{ log_offset: 0 }]);
});

it("valuations are compared with rules whose activation was committed, also if every attempt to activate them seemed to fail", async () => {
  const account = anyAccountNumber();
  let isFirst = true;
  const owner = startMember(NO_TOKENS, async (work) => {
    const committed = await commands.transact(work);
    if (!isFirst) return committed;
    isFirst = false;
    throw Object.assign(new Error("the connection was lost"), { code: "ECONNRESET" });
  });
  owner.assign([partition], 1);
  await setRules(account, MAX_LOSS);
  await expect(owner.activateWaiting()).rejects.toThrow(RetryableError);
  await owner.addValuations(partition, [lossAt(0, account, 1_000)]);
  expect(await database.query(BREACHES, [account])).toEqual([{ log_offset: 0 }]);
});

it("new rules become active from no earlier offset than the rules that a crashed process made active", async () => {
  const account = anyAccountNumber();
  const log = [0, 1, 2].map((offset) => lossAt(offset, account, 0));
  const crashed = startMember();
  crashed.assign([partition], 1);
  await crashed.addValuations(partition, log);
  await setRules(account, MAX_LOSS);
  await crashed.activateWaiting();

  // The next owner begins at offset 0: the crashed process has stored no checkpoint.
  const next = startMember();
  next.assign([partition], 2);
  await setRules(account, { ...MAX_LOSS, limit: { amount: 500 } });
  await next.activateWaiting();
  await next.addValuations(partition, log);
  await next.activateWaiting();
  await next.addValuations(partition, [lossAt(3, account, 1_000)]);
  expect(await database.query(ACTIVE, [account])).toEqual([
    { version: 1, log_offset: 3 },
    { version: 2, log_offset: 3 },
  ]);
  expect(await database.query(BREACHES, [account])).toEqual([]);
});

it("new rules become active only from an offset after the valuations that a crashed process has compared", async () => {
  const account = anyAccountNumber();
  const crashed = startMember();
  crashed.assign([partition], 1);
  await crashed.addValuations(partition, [lossAt(0, account, 1_000)]);
  // The next owner begins at offset 0, and the rules are set after the valuation at offset 0.
  endOfLog = 1;
  const next = startMember();
  next.assign([partition], 2);
  await setRules(account, MAX_LOSS);
  await next.activateWaiting();
  expect(await database.query(ACTIVE, [account])).toEqual([]);
  await next.addValuations(partition, [lossAt(0, account, 1_000)]);
  await next.activateWaiting();
  endOfLog = 0;
  expect(await database.query(ACTIVE, [account])).toEqual([{ version: 1, log_offset: 1 }]);
  expect(await database.query(BREACHES, [account])).toEqual([]);
});

it("rules are activated although more rules than fit in a round wait on another partition, which has valuations to compare first", async () => {
  const account = anyAccountNumber();
  const owner = startMember();
  const behind = partition;
  owner.assign([behind, behind + 1], 1);
  for (let count = 0; count < MORE_THAN_A_ROUND; count++) await setRules(anyAccountNumber(), MAX_LOSS);
  endOfLog = 1;
  await owner.activateWaiting();
  endOfLog = 0;
  partition += 1;
  await setRules(account, MAX_LOSS);
  await owner.activateWaiting();
  expect(await database.query(ACTIVE, [account])).toEqual([{ version: 1, log_offset: 0 }]);
});

it("the rules of a partition are activated although the rules of another partition cannot be activated", async () => {
  const account = anyAccountNumber();
  const [owner, other] = [startMember(), startMember()];
  other.assign([partition], 2);
  await other.addValuations(partition, []);
  owner.assign([partition, partition + 1], 1);
  await setRules(anyAccountNumber(), MAX_LOSS);
  partition += 1;
  await setRules(account, MAX_LOSS);
  await expect(owner.activateWaiting()).rejects.toThrow(RetryableError);
  expect(await database.query(ACTIVE, [account])).toEqual([{ version: 1, log_offset: 0 }]);
});

it("valuations are rejected with a RetryableError if the cluster does not answer after an assignment", async () => {
  const account = anyAccountNumber();
  const owner = startMember();
  owner.assign([partition], 1);
  endOfLog = null;
  const adding = owner.addValuations(partition, [lossAt(0, account, 0)]);
  await expect(adding).rejects.toBeInstanceOf(RetryableError);
  endOfLog = 0;
  await owner.addValuations(partition, [lossAt(0, account, 0)]);
});

it("a breach is recorded while a checkpoint waits for the database", async () => {
  const account = anyAccountNumber();
  const owner = startMember();
  owner.assign([partition], 1);
  await setRules(account, MAX_LOSS);
  await owner.activateWaiting();
  await owner.addValuations(partition, [lossAt(0, account, 0)]);
  await owner.checkpoint();
  const [locked, release] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const locking = database.transaction(async (transaction) => {
    expect(await transaction.query(LOCK_STATE, [account])).toHaveLength(1);
    locked.resolve();
    await release.promise;
  });
  await locked.promise;
  await owner.addValuations(partition, [lossAt(1, account, 0)]);
  const storing = owner.checkpoint();
  await eventually(async () => expect(await database.query(WAITING, [])).toEqual([{ count: 1 }]));
  const { commitOffset } = await owner.addValuations(partition, [lossAt(2, account, 1_000)]);
  expect(await database.query(BREACHES, [account])).toEqual([{ log_offset: 2 }]);
  expect(commitOffset()).toBe(1n);
  release.resolve();
  await Promise.all([locking, storing]);
  expect(commitOffset()).toBe(2n);
});

it("a breach that the next owner finds with changed rules has its valuation's offset, but none if the topic was recreated or the account moved", async () => {
  const breachAfter = async ({ topicId = "topic", isMoved = false }) => {
    const account = anyAccountNumber();
    partition += 1;
    const owner = startMember();
    owner.assign([partition], 1);
    await setRules(account, { ...MAX_LOSS, limit: { amount: 500 } });
    await owner.activateWaiting();
    await owner.addValuations(partition, [lossAt(5, account, 1_000)]);
    await owner.checkpoint();
    if (isMoved) await database.query(MOVE, [account, (partition += 1)]);
    const next = startMember(NO_TOKENS, undefined, topicId);
    next.assign([partition], 2);
    await setRules(account, MAX_LOSS);
    await next.activateWaiting();
    return database.query(BREACHES, [account]);
  };
  expect(await breachAfter({})).toEqual([{ log_offset: 5 }]);
  expect(await breachAfter({ topicId: "recreated topic" })).toEqual([{ log_offset: null }]);
  expect(await breachAfter({ isMoved: true })).toEqual([{ log_offset: null }]);
});

it("rules apply from the beginning of a recreated topic, also if the first owner after its recreation crashes before a checkpoint", async () => {
  const account = anyAccountNumber();
  partition += 1;
  const owner = startMember();
  owner.assign([partition], 1);
  await owner.addValuations(partition, [lossAt(4, anyAccountNumber(), 0)]);
  await setRules(account, MAX_LOSS);
  await owner.activateWaiting();
  expect(await database.query(ACTIVE, [account])).toMatchObject([{ log_offset: 5 }]);

  const crashed = startMember(NO_TOKENS, undefined, "recreated topic");
  crashed.assign([partition], 2);
  await crashed.addValuations(partition, [lossAt(0, anyAccountNumber(), 0)]);
  const next = startMember(NO_TOKENS, undefined, "recreated topic");
  next.assign([partition], 3);
  await next.addValuations(partition, [lossAt(0, anyAccountNumber(), 0), lossAt(1, account, 1_000)]);
  expect(await database.query(BREACHES, [account])).toEqual([{ log_offset: 1 }]);
});

it("discards older rules if newer rules became active first, because the clock of the database was set back after the older rules were set", async () => {
  const account = anyAccountNumber();
  const owner = startMember();
  owner.assign([partition], 1);
  await setRules(account, MAX_LOSS);
  await database.query(SET_BACK_CLOCK, [account]);
  await setRules(account, { ...MAX_LOSS, limit: { amount: 500 } });
  await owner.activateWaiting();
  expect(await database.query(VERSIONS, [account])).toEqual([{ version: 2 }]);
  expect(await database.query(ACTIVE, [account])).toEqual([{ version: 2, log_offset: 0 }]);
});

it("discards rules that were stored after their account was deleted", async () => {
  const account = anyAccountNumber();
  const owner = startMember();
  owner.assign([partition], 1);
  // The command read the account before the deletion.
  deleted.add(account);
  await rules.deleteRules([{ serverId, accountNumber: account }]);
  await setRules(account, MAX_LOSS);
  await owner.activateWaiting();
  expect(await database.query(VERSIONS, [account])).toEqual([]);
});

it("the next owner deletes the state of an account whose rules were deleted while a checkpoint was stored", async () => {
  const account = anyAccountNumber();
  const owner = startMember();
  owner.assign([partition], 1);
  await setRules(account, MAX_LOSS);
  await owner.activateWaiting();
  await owner.addValuations(partition, [lossAt(0, account, 0)]);
  const storing = await database.transaction(async (transaction) => {
    expect(await transaction.query(LOCK_PARTITION, [partition])).toHaveLength(1);
    const checkpoint = owner.checkpoint();
    await eventually(async () => expect(await database.query(WAITING, [])).toEqual([{ count: 1 }]));
    await rules.deleteRules([{ serverId, accountNumber: account }]);
    return { checkpoint };
  });
  await storing.checkpoint;
  expect(await database.query(STATES, [account])).toHaveLength(1);
  const next = startMember();
  next.assign([partition], 2);
  await next.addValuations(partition, []);
  expect(await database.query(STATES, [account])).toEqual([]);
});

it("a rule is still the same rule, and is breached only once, if a command that replaced it has failed and the rule is set again", async () => {
  const account = anyAccountNumber();
  const owner = startMember();
  owner.assign([partition], 1);
  await setRules(account, MAX_LOSS);
  await owner.activateWaiting();
  await owner.addValuations(partition, [lossAt(0, account, 1_000)]);
  await setRules(account, { ...MAX_LOSS, id: "other" });
  await database.query(FAIL_COMMANDS, [account]);
  await setRules(account, MAX_LOSS);
  await owner.activateWaiting();
  await owner.addValuations(partition, [lossAt(1, account, 1_000)]);
  expect(await database.query(BREACHES, [account])).toEqual([{ log_offset: 0 }]);
  expect(await database.query(VERSIONS, [account])).toEqual([{ version: 1 }, { version: 2 }]);
});
