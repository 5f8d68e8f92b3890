/**
 * `npm run scenario -- risk`: kills and pauses two risk processes while they compare valuations
 * with rules. Random accounts trade, deposit and change their rules. Then an oracle looks at the
 * whole log again. The run compares the alerts of the service with the alerts of the oracle. The
 * run also compares the commands and events of the service with the alerts of the service. A run
 * with differences exits with 1.
 * `QUOTES_FILE` names a CSV of recorded quotes. Without this variable the quotes are a random walk.
 * `RISK_VALUATIONS` (default 100,000) is the number of valuations after which no further quote is
 * used. The quotes may give fewer valuations.
 * `RISK_PER_SECOND` (default 1,000) is the rate of valuations.
 * `RISK_SEED` determines the random choices.
 */
import { randomUUID } from "node:crypto";
import path from "node:path";

import { accountKey, CommandEvent, TOPICS, type Valuation } from "@kapi/contracts";
import {
  createKafka,
  endOffsets,
  type KafkaConnection,
  type Producer,
  startLogReader,
  startProducer,
} from "@kapi/kafka";
import { assertDefined, delay } from "@kapi/kernel";
import { startTestStack, type TestStack } from "@kapi/local/test-stack";
import { type Database, startPool, statement } from "@kapi/postgres";
import { createLogger, Scope } from "@kapi/runtime";
import { commandMessage, createTestEnvironment, eventually } from "@kapi/testkit";

import startServers from "../../libs/testkit/src/global-setup.ts";
import { startAccountServer } from "../../services/risk/test/account-server.ts";
import { RandomSource } from "../live/random-source.ts";
import { compareWithPast } from "./compare-with-past.ts";
import { randomRules } from "./random-rules.ts";
import { INITIAL_MINOR, type Quote, readQuotes, RecordedAccount } from "./recorded-account.ts";

const SEED = Number(process.env["RISK_SEED"] ?? Date.now() % 1_000_000);
const VALUATIONS = Number(process.env["RISK_VALUATIONS"] ?? 100_000);
const PER_SECOND = Number(process.env["RISK_PER_SECOND"] ?? 1_000);
const QUOTES_FILE = process.env["QUOTES_FILE"] ?? "";
const ACCOUNTS = 40;
/** The valuations of every n-th account have no net deposits. */
const SILENT_EACH = 8;
/** Probability that an account has a valuation at a quote. */
const VALUED = 0.25;
/** Probability that the previous valuation is sent again, as after a lost reply. */
const REPEATED = 0.02;
const MAX_AMOUNT = 600;
const INITIAL_BALANCE = INITIAL_MINOR / 100;
const RULES_EVERY_MS = 60;
const SESSION_TIMEOUT_MS = 3_000;
/**
 * Longer than the session timeout: during some pauses the other process takes over the partitions
 * of the paused process.
 */
const MAX_PAUSE_MS = 6_000;
const MAX_REST_MS = 3_000;
const SETTLE_TIMEOUT_MS = 120_000;
const SETTLE_INTERVAL_MS = 500;
const PROCESSES = ["risk", "risk-2"] as const;
const PARTITIONS = 3;

const POSITIONS = statement<{ number: number; next_offset: number; token: number }>(
  "test-risk-positions",
  `select number, next_offset::float8 as next_offset, token::float8 as token from partitions`,
);

const scope = new Scope({ stopDeadlineMs: 30_000 });
const logger = createLogger({ service: "test", level: "silent" });
const random = new RandomSource(SEED);
const serverId = randomUUID();
const organizationId = randomUUID();
const counts = { kills: 0, pauses: 0, changes: 0, sent: 0 };

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

interface Trial {
  readonly stack: TestStack;
  readonly kafka: KafkaConnection;
  readonly producer: Producer;
  readonly database: Database;
  readonly accounts: readonly RecordedAccount[];
}

async function begin(first: Quote): Promise<Trial> {
  const accounts = Array.from(
    { length: ACCOUNTS },
    (_, index) => new RecordedAccount(serverId, first, random.fork(), index % SILENT_EACH > 0),
  );
  const byNumber = new Map(accounts.map((account) => [account.accountNumber, account]));
  const environment = await createTestEnvironment({ partitions: PARTITIONS });
  await scope.start("environment", () => ({ value: null, stop: () => environment.stop() }));
  const server = await startAccountServer({
    initialBalanceMinor: INITIAL_MINOR,
    valuationOf: (_serverId, number) => assertDefined(byNumber.get(number), `account ${number}`).valuation(),
  });
  await scope.start("account server", () => ({ value: null, stop: () => server.stop() }));
  const { kafkaBrokers, topicPrefix, postgresUrl: connectionString } = environment;
  const kafka = createKafka({ brokers: kafkaBrokers.split(","), clientId: "test", topicPrefix, logger });
  const producer = await scope.start("producer", () => startProducer(kafka));
  const stack = await scope.start("risk", async () => {
    const value = await startTestStack({
      services: ["risk"],
      twice: ["risk"],
      environment,
      env: {
        all: {
          ACCOUNT_URL: server.url,
          CHECKPOINT_INTERVAL_MS: "1000",
          KAFKA_SESSION_TIMEOUT_MS: String(SESSION_TIMEOUT_MS),
        },
      },
    });
    return { value, stop: () => value.stop() };
  });
  const database = await scope.start("database", () =>
    startPool({ connectionString, schema: "risk", applicationName: "test", logger }),
  );
  return { stack, kafka, producer, database, accounts };
}

/** Sends a command that sets or sometimes deletes an account's rules. Returns the command's id. */
async function changeRules({ producer }: Trial, account: RecordedAccount): Promise<string> {
  const isRemoval = account.rules.length > 0 && random.happens(0.1);
  account.rules = isRemoval
    ? []
    : randomRules({ random, maxAmount: MAX_AMOUNT, initialBalance: INITIAL_BALANCE }, account.rules);
  const { accountNumber, rules } = account;
  const message = commandMessage({
    serverId,
    organizationId,
    accountNumber,
    ...(isRemoval
      ? { operation: "risk.delete_rules", payload: {} }
      : { operation: "risk.set_rules", payload: { rules: [...rules] } }),
  });
  await producer.send(TOPICS.commandsRisk, {
    key: accountKey(serverId, accountNumber),
    value: JSON.stringify(message),
  });
  counts.changes += 1;
  return message.commandId;
}

async function changeRulesUntil(trial: Trial, isOver: () => boolean, commands: string[]): Promise<void> {
  while (!isOver()) {
    commands.push(await changeRules(trial, random.pick(trial.accounts)));
    await delay(RULES_EVERY_MS);
  }
}

/** Plays the quotes at a fixed rate of valuations. */
async function play({ accounts, producer }: Trial, quotes: readonly Quote[]): Promise<void> {
  const stride = Math.max(1, Math.floor((quotes.length * ACCOUNTS * VALUED) / VALUATIONS));
  const beganMs = performance.now();
  const sends: Promise<unknown>[] = [];
  const send = (one: Valuation): void => {
    const message = { key: accountKey(serverId, one.accountNumber), value: JSON.stringify(one) };
    sends.push(producer.send(TOPICS.tradingValuations, message));
    counts.sent += 1;
  };
  for (let index = 0; index < quotes.length && counts.sent < VALUATIONS; index += stride) {
    for (const account of accounts) {
      if (!random.happens(VALUED)) continue;
      const before = account.valuation();
      account.step(assertDefined(quotes[index], "a quote"));
      send(account.valuation());
      if (random.happens(REPEATED)) send(before);
    }
    await Promise.all(sends.splice(0));
    await delay(Math.max(0, beganMs + (counts.sent * 1_000) / PER_SECOND - performance.now()));
  }
}

/** Until `isOver`, repeatedly kills or pauses one process, and sometimes both at once. */
async function disturb({ stack }: Trial, isOver: () => boolean): Promise<void> {
  const one = async (name: string): Promise<void> => {
    const victim = stack.process(name);
    if (random.happens(0.5)) {
      counts.kills += 1;
      victim.kill("SIGKILL");
      await victim.ended();
      return victim.restart();
    }
    counts.pauses += 1;
    victim.kill("SIGSTOP");
    await delay(random.whole(100, MAX_PAUSE_MS));
    victim.kill("SIGCONT");
  };
  while (!isOver()) {
    await delay(random.whole(0, MAX_REST_MS));
    await Promise.all(random.happens(0.2) ? PROCESSES.map(one) : [one(random.pick(PROCESSES))]);
  }
}

/** Waits until every change of rules has succeeded, and every valuation was compared. */
async function settle({ kafka, database }: Trial, commands: readonly string[]): Promise<void> {
  const options = { timeoutMs: SETTLE_TIMEOUT_MS, intervalMs: SETTLE_INTERVAL_MS };
  const succeeded = new Set<string>();
  const reader = await startLogReader(kafka, {
    topic: TOPICS.commandEvents,
    from: "beginning",
    onBatch: (_partition, messages) => {
      for (const { value } of messages) {
        const { commandId, status } = CommandEvent.parse(JSON.parse(value.toString("utf8")));
        if (status === "succeeded") succeeded.add(commandId);
      }
    },
    logger,
    fatal: (error) => say(String(error)),
  });
  await eventually(() => {
    const open = commands.filter((id) => !succeeded.has(id));
    if (open.length > 0) throw new Error(`${open.length} changes of rules have not succeeded, such as ${open[0]}`);
  }, options);
  await reader.stop();
  await eventually(async () => {
    const positions = new Map((await database.query(POSITIONS, [])).map((row) => [row.number, row.next_offset]));
    for (const [partition, end] of await endOffsets(kafka, TOPICS.tradingValuations)) {
      if (positions.get(partition) !== Number(end)) {
        throw new Error(`partition ${partition} is compared up to ${positions.get(partition)} of ${end}`);
      }
    }
  }, options);
  // A process publishes the messages of an alert shortly after it commits the alert.
  await delay(SETTLE_INTERVAL_MS);
}

async function run(): Promise<boolean> {
  const quotes = readQuotes(QUOTES_FILE === "" ? null : path.resolve(QUOTES_FILE), random.fork());
  const trial = await begin(assertDefined(quotes[0], "the first quote"));
  const commands: string[] = [];
  for (const account of trial.accounts.slice(ACCOUNTS / 2)) commands.push(await changeRules(trial, account));
  let isOver = false;
  const disturbing = disturb(trial, () => isOver);
  const changing = changeRulesUntil(trial, () => isOver, commands);
  await play(trial, quotes);
  isOver = true;
  await Promise.all([disturbing, changing]);
  await settle(trial, commands);
  const { differences, ...figures } = await compareWithPast({ ...trial, logger });
  const owners = await trial.database.query(POSITIONS, []);
  const takeovers = owners.reduce((sum, { token }) => sum + token, -owners.length);
  say(`sent         ${counts.sent} valuations of ${quotes.length} quotes, ${counts.changes} changes of rules`);
  say(`disturbed    ${counts.kills} kills, ${counts.pauses} pauses, ${takeovers} changes of a partition's owner`);
  say(`compared     ${figures.valuations} valuations, ${figures.versions} versions of rules`);
  say(
    `found        ${figures.breaches} breaches, ${figures.warnings} warnings, ${figures.actions} commands from breaches`,
  );
  say(`messages     ${figures.repeats} repeats of commands and events`);
  say(`differences  ${differences.length}`);
  for (const difference of differences) say(`  ${difference}`);
  return differences.length === 0;
}

say(`RISK_SEED=${SEED} RISK_VALUATIONS=${VALUATIONS} RISK_PER_SECOND=${PER_SECOND} QUOTES_FILE=${QUOTES_FILE}`);
const stopServers = await startServers();
let passed = false;
try {
  passed = await run();
} finally {
  await scope.stop();
  await stopServers();
}
process.exitCode = passed ? 0 : 1;
