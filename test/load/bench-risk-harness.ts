/** A risk process with rules for `bench -- risk`, on the servers and topics of a `LiveHarness`. */
import { randomUUID } from "node:crypto";

import { accountKey, type RiskRule, type TopicContract, TOPICS } from "@kapi/contracts";
import { endOffsets, startLogReader, startProducer } from "@kapi/kafka";
import { assertDefined } from "@kapi/kernel";
import { startTestStack, type TestStack } from "@kapi/local/test-stack";
import { type Database, startPool, statement } from "@kapi/postgres";
import { createLogger } from "@kapi/runtime";
import kafkajs, { Kafka, logLevel } from "kafkajs";

import { FIRST_ACCOUNT, type LiveHarness, until } from "./bench-live-harness.ts";

/** Taken from the default export: Node finds no such named export in kafkajs. */
const { ConfigResourceTypes } = kafkajs;
const INITIAL_MINOR = 100_000_000;
const ROWS_IN_STATEMENT = 10_000;
const CAUGHT_UP_TIMEOUT_MS = 300_000;

// $1 server, $2 organization, $3 account numbers, $4 their partitions, $5 rules, $6 seed,
// $7 initial balance.
const INSERT_RULES = statement<never>(
  "bench-insert-rules",
  `insert into rule_sets (server_id, account_number, version, organization_id, account_id, partition, rules, seed,
     initial_balance_minor, command_id, created_at, active_from_offset, active_from)
   select $1, a.number, 1, $2, gen_random_uuid(), a.partition, $5, $6, $7, gen_random_uuid(), now(), 0, now()
   from unnest($3::text[], $4::integer[]) as a(number, partition)`,
);
const POSITIONS = statement<{ number: number; next_offset: number }>(
  "bench-risk-positions",
  `select number, next_offset::float8 as next_offset from partitions`,
);
interface ActionRow {
  readonly command_id: string;
  readonly partition: number;
  readonly log_offset: number;
  readonly recorded_ms: number;
}
const ACTIONS = statement<ActionRow>(
  "bench-risk-actions",
  `select command_id, valuation_partition as partition, valuation_offset::float8 as log_offset,
     extract(epoch from recorded_at)::float8 * 1000 as recorded_ms
   from alerts where command_id is not null and valuation_partition is not null`,
);

/** A loss of 10 % breaches `daily` and `max`. Only the action of `max` is a command. */
const RULES: readonly RiskRule[] = [
  {
    id: "daily",
    type: "dailyLoss",
    limit: { percent: 5 },
    basis: "higher",
    timeZone: "America/New_York",
    dayStart: "17:00",
    warnAt: 80,
    action: "notify",
  },
  { id: "max", type: "maxLoss", limit: { percent: 10 }, trailing: "equity", action: "disable" },
  { id: "target", type: "profitTarget", target: { percent: 8 }, basis: "balance", action: "notify" },
];

/** The command of a breach. */
export interface Action {
  /** The time at which the broker appended the valuation. */
  readonly valuationAtMs: number;
  /** From the append of the valuation to the append of the command, by the broker's clock. */
  readonly tookMs: number;
  /**
   * The part of `tookMs` until the breach is written in its transaction. The rest is the commit and
   * the publication of the command.
   */
  readonly untilRecordedMs: number;
}

/** A running risk process, its rules and the commands of its breaches. */
export class RiskBench {
  readonly harness: LiveHarness;
  readonly stack: TestStack;
  readonly #database: Database;

  private constructor(harness: LiveHarness, stack: TestStack, database: Database) {
    this.harness = harness;
    this.stack = stack;
    this.#database = database;
  }

  /** Starts a risk process with `env`. Its tables are empty. */
  static async start(harness: LiveHarness, env: Readonly<Record<string, string>>): Promise<RiskBench> {
    const { environment, scope } = harness;
    const stack = await scope.start("risk", async () => {
      const value = await startTestStack({ services: ["risk"], environment, env: { risk: env } });
      return { value, stop: () => value.stop() };
    });
    const database = await scope.start("database", () =>
      startPool({
        connectionString: environment.postgresUrl,
        schema: "risk",
        applicationName: "bench",
        logger: createLogger({ service: "bench", level: "error" }),
      }),
    );
    return new RiskBench(harness, stack, database);
  }

  /** The id of the risk process, which must run. */
  get pid(): number {
    return assertDefined(this.stack.process("risk").pid ?? undefined, "a running risk process");
  }

  /**
   * Gives three rules to each of the first `accounts` accounts. The risk process must not have read
   * a valuation since its start: it loads the rules of a partition before the first valuation of
   * the partition, and does not see rules that are inserted later.
   */
  async setRules(accounts: number): Promise<void> {
    const { kafka } = this.harness;
    const { serverId } = assertDefined(this.harness.live({ port: 0 }).subscribe ?? undefined, "the server");
    const producer = await startProducer(kafka);
    const numbers = Array.from({ length: accounts }, (_, index) => String(FIRST_ACCOUNT + index));
    for (let at = 0; at < accounts; at += ROWS_IN_STATEMENT) {
      const some = numbers.slice(at, at + ROWS_IN_STATEMENT);
      const partitions = some.map((number) =>
        producer.value.partitionOf(TOPICS.tradingValuations, accountKey(serverId, number)),
      );
      const seed = {
        measuredAtMs: Date.now(),
        equityMinor: INITIAL_MINOR,
        balanceMinor: INITIAL_MINOR,
        netDepositsMinor: null,
      };
      await this.#database.query(INSERT_RULES, [
        serverId,
        randomUUID(),
        some,
        partitions,
        JSON.stringify(RULES.map((rule) => ({ since: 1, rule }))),
        JSON.stringify(seed),
        INITIAL_MINOR,
      ]);
    }
    await producer.stop();
  }

  /** Waits until the checkpoints of the risk process include every valuation. */
  async caughtUp(): Promise<void> {
    await until(
      "the comparison of all valuations",
      async () => {
        const ends = await endOffsets(this.harness.kafka, TOPICS.tradingValuations);
        const positions = new Map(
          (await this.#database.query(POSITIONS, [])).map((row) => [row.number, row.next_offset]),
        );
        return [...ends].every(([partition, end]) => end === 0n || positions.get(partition) === Number(end));
      },
      CAUGHT_UP_TIMEOUT_MS,
    );
  }

  /** Lets the broker stamp the records of valuations and commands when it appends them. */
  async stampAtAppend(): Promise<void> {
    const { kafkaBrokers, topicPrefix } = this.harness.environment;
    const kafka = new Kafka({ brokers: kafkaBrokers.split(","), clientId: "bench", logLevel: logLevel.ERROR });
    const admin = kafka.admin();
    await admin.connect();
    await admin.alterConfigs({
      validateOnly: false,
      resources: [TOPICS.tradingValuations, TOPICS.commandsAccount].map(({ name }) => ({
        type: ConfigResourceTypes.TOPIC,
        name: topicPrefix + name,
        configEntries: [{ name: "message.timestamp.type", value: "LogAppendTime" }],
      })),
    });
    await admin.disconnect();
  }

  /** Every action so far, in no particular order. */
  async actions(): Promise<readonly Action[]> {
    const rows = await this.#database.query(ACTIONS, []);
    const commands = new Map<string, number>();
    await this.#read(TOPICS.commandsAccount, (_place, atMs, value) => {
      const { commandId } = JSON.parse(value.toString("utf8")) as { commandId: string };
      if (!commands.has(commandId)) commands.set(commandId, atMs);
    });
    const wanted = new Set(rows.map((row) => `${row.partition}/${row.log_offset}`));
    const valuations = new Map<string, number>();
    await this.#read(TOPICS.tradingValuations, (place, atMs) => {
      if (wanted.has(place)) valuations.set(place, atMs);
    });
    return rows.map(({ command_id: id, partition, log_offset: offset, recorded_ms: recordedMs }) => {
      const valuationAtMs = assertDefined(valuations.get(`${partition}/${offset}`), "the valuation of a breach");
      const tookMs = assertDefined(commands.get(id), `command ${id}`) - valuationAtMs;
      return { valuationAtMs, tookMs, untilRecordedMs: recordedMs - valuationAtMs };
    });
  }

  async #read(topic: TopicContract, onRecord: (place: string, atMs: number, value: Buffer) => void): Promise<void> {
    const reader = await startLogReader(this.harness.kafka, {
      topic,
      from: "beginning",
      onBatch: (partition, messages) => {
        for (const { offset, timestampMs, value } of messages) onRecord(`${partition}/${offset}`, timestampMs, value);
      },
      logger: createLogger({ service: "bench", level: "error" }),
      fatal: (error) => {
        throw error;
      },
    });
    await reader.value.caughtUp;
    await reader.stop();
  }
}
