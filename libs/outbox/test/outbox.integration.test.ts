import { fileURLToPath } from "node:url";

import { DEAD_LETTER_HEADERS, TOPICS } from "@kapi/contracts";
import { createKafka, startLogReader, startProducer, type Message, type Producer } from "@kapi/kafka";
import { delay } from "@kapi/kernel";
import { startPool, type Database, migrate, statement } from "@kapi/postgres";
import { createLogger, Scope, type Started } from "@kapi/runtime";
import { createTestEnvironment, eventually } from "@kapi/testkit";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";

import { type Outbox, type OutboxMessage, outboxAge, ROW_PER_TRANSACTION, startOutbox, toLines } from "../src/index.ts";
import { POLL_BATCH, POLL_INTERVAL_MS, POLL_MAX_BYTES } from "../src/limits.ts";

const SCHEMA = "outbox_test";
const MIGRATIONS = fileURLToPath(new URL("../../commands/migrations", import.meta.url));
/** Above the size limit of `finance.events`, below that of the dead letters. */
const TOO_LARGE = JSON.stringify("x".repeat(1_000_000));
/** How long the producer waits for a partition without a leader, in milliseconds. */
const PRODUCE_TIMEOUT_MS = 10_000;
const INSERT = statement<{ id: number }>("test_insert", "insert into outbox (messages) values ($1) returning id");
const INSERT_LEFTOVER = statement<never>(
  "test_insert_leftover",
  `insert into outbox (messages, created_at) values ($1, now() - interval '1 minute')`,
);
const ROWS = statement<{ rows: number }>("test_outbox_rows", "select count(*)::integer as rows from outbox");
const DELETE_ONE = statement<never>("test_delete_one", "delete from outbox where id = $1");

const scope = new Scope({ stopDeadlineMs: 30_000 });
const published: Message[] = [];
const deadLetters: Message[] = [];
const errors: string[] = [];
const logger = createLogger({ service: "test", level: "error", destination: { write: (line) => errors.push(line) } });
let database: Database;
let producer: Producer;
let outbox: Started<Outbox> | null = null;

beforeAll(async () => {
  const environment = await createTestEnvironment({ needs: ["kafka", "postgres"], partitions: 2 });
  await scope.start("environment", () => ({ value: null, stop: () => environment.stop() }));
  const { kafkaBrokers, topicPrefix, postgresUrl: connectionString } = environment;
  const kafka = createKafka({ brokers: kafkaBrokers.split(","), clientId: "test", topicPrefix, logger });
  await migrate({ connectionString, schema: SCHEMA, directories: [{ name: "commands", path: MIGRATIONS }], logger });
  database = await scope.start("postgres", () =>
    startPool({ connectionString, schema: SCHEMA, applicationName: "test", logger }),
  );
  producer = await scope.start("producer", () => startProducer(kafka));
  const readers = [
    { topic: TOPICS.financeEvents, seen: published },
    { topic: TOPICS.deadLetter, seen: deadLetters },
  ];
  for (const { topic, seen } of readers) {
    await scope.start(topic.name, () =>
      startLogReader(kafka, {
        topic,
        from: "beginning",
        onBatch: (_partition, messages) => {
          seen.push(...messages);
        },
        logger,
        fatal: (error) => {
          throw error;
        },
      }),
    );
  }
});
afterEach(async () => {
  await outbox?.stop();
  outbox = null;
});
afterAll(() => scope.stop());

function start(over: Pick<Producer, "send"> = producer): Outbox {
  outbox = startOutbox({ service: "test", database, rows: ROW_PER_TRANSACTION, producer: over, logger });
  return outbox.value;
}

const event = (key: string, value = '"event"'): OutboxMessage => ({ topic: TOPICS.financeEvents, key, value });

/** Writes the row of a process that committed `messages` and published nothing. */
async function insertLeftover(...messages: OutboxMessage[]): Promise<void> {
  await database.query(INSERT_LEFTOVER, [toLines(messages)]);
}

async function commit(messages: readonly OutboxMessage[]): Promise<number> {
  return (await database.query(INSERT, [toLines(messages)]))[0]?.id ?? 0;
}

async function rows(): Promise<number | undefined> {
  return (await database.query(ROWS, []))[0]?.rows;
}

const publishedCount = (key: string): number => published.filter((one) => one.key === key).length;

/** The dead letters of a message, by its key. */
function deadLettersOf(key: string) {
  return deadLetters
    .filter((letter) => letter.key === key)
    .map(({ headers, value }) => ({
      reason: headers[DEAD_LETTER_HEADERS.reason]?.toString(),
      topic: headers[DEAD_LETTER_HEADERS.topic]?.toString(),
      group: headers[DEAD_LETTER_HEADERS.group]?.toString(),
      bytes: value.length,
    }));
}

describe("committed messages", () => {
  it("are published at once, and their row is deleted", async () => {
    const messages = [event("now-a"), event("now-b")];
    const started = start();
    expect(await started.publish([await commit(messages)], messages)).toBe(true);
    await eventually(() => expect([publishedCount("now-a"), publishedCount("now-b")]).toEqual([1, 1]));
    await eventually(async () => expect([await rows(), await outboxAge(database)]).toEqual([0, 0]));
  });

  it("stay while Kafka rejects one of them, and are published by the next process", async () => {
    const messages = [event("later-a"), event("later-b")];
    const rejecting: Pick<Producer, "send"> = {
      send: (topic, message) =>
        message.key === "later-b" ? Promise.reject(new Error("Kafka is unavailable")) : producer.send(topic, message),
    };
    await insertLeftover(...messages);
    const before = start(rejecting);
    expect(await before.publish([await commit(messages)], messages)).toBe(false);
    await eventually(() => expect(before.check()).toContain("1 of 1"), { timeoutMs: 5 * POLL_INTERVAL_MS });
    expect([await rows(), publishedCount("later-b")]).toEqual([2, 0]);
    expect(await outboxAge(database)).toBeGreaterThan(50);
    await outbox?.stop();
    const after = start();
    await eventually(async () => expect([await rows(), publishedCount("later-b")]).toEqual([0, 2]), {
      timeoutMs: 15_000,
    });
    await eventually(() => expect(after.check()).toBeNull());
  });
});

describe("a leftover row of the outbox that waits for Kafka", () => {
  it("causes no duplicates of other leftovers, also if it waits longer than a session may be idle in a transaction", async () => {
    const waiting: Pick<Producer, "send"> = {
      send: async (topic, message) => {
        if (message.key !== "waiting") return producer.send(topic, message);
        await delay(PRODUCE_TIMEOUT_MS);
        throw new Error("not sent within its deadline");
      },
    };
    await insertLeftover(event("waiting"));
    await insertLeftover(event("accepted"));
    const before = start(waiting);
    await eventually(async () => expect(await rows()).toBe(1), { timeoutMs: 2 * PRODUCE_TIMEOUT_MS });
    expect(publishedCount("accepted")).toBe(1);
    await eventually(() => expect(before.check()).toContain("wait for Kafka"));
    await outbox?.stop();
    start();
    await eventually(async () => expect(await rows()).toBe(0), { timeoutMs: 5 * POLL_INTERVAL_MS });
    await eventually(() => expect([publishedCount("waiting"), publishedCount("accepted")]).toEqual([1, 1]));
  });

  it("does not keep back newer leftovers that Kafka accepts, however many leftovers wait", async () => {
    const rejecting: Pick<Producer, "send"> = {
      send: (topic, message) =>
        message.key === "stuck" ? Promise.reject(new Error("no leader")) : producer.send(topic, message),
    };
    for (let index = 0; index < 2 * POLL_BATCH + 5; index += 1) await insertLeftover(event("stuck"));
    for (let index = 0; index < POLL_BATCH + 5; index += 1) await insertLeftover(event("newer"));
    const before = start(rejecting);
    await eventually(() => expect(publishedCount("newer")).toBe(POLL_BATCH + 5), {
      timeoutMs: 15 * POLL_INTERVAL_MS,
    });
    await eventually(async () => expect(await rows()).toBe(2 * POLL_BATCH + 5));
    expect(before.check()).toContain("wait for Kafka");
    await outbox?.stop();
    const after = start();
    await eventually(async () => expect(await rows()).toBe(0), { timeoutMs: 5 * POLL_INTERVAL_MS });
    await eventually(() => expect([publishedCount("stuck"), after.check()]).toEqual([2 * POLL_BATCH + 5, null]));
    expect(publishedCount("newer")).toBe(POLL_BATCH + 5);
  });

  it("is published before newer leftovers after an outage of Kafka, except for one batch of newer ones", async () => {
    let isOut = true;
    const tried: string[] = [];
    const accepted: string[] = [];
    const recovering: Pick<Producer, "send"> = {
      send: (topic, message) => {
        (isOut ? tried : accepted).push(message.key);
        return isOut ? Promise.reject(new Error("Kafka is unavailable")) : producer.send(topic, message);
      },
    };
    const keys = Array.from({ length: 4 * POLL_BATCH }, (_, index) => `outage-${index}`);
    for (const key of keys) await insertLeftover(event(key));
    start(recovering);
    await eventually(() => expect(tried).toContain(keys[POLL_BATCH]), { timeoutMs: 10 * POLL_INTERVAL_MS });
    isOut = false;
    await eventually(async () => expect(await rows()).toBe(0), { timeoutMs: 10 * POLL_INTERVAL_MS });
    const firstBatch = new Set(accepted.slice(0, POLL_BATCH));
    expect(accepted.slice(POLL_BATCH)).toEqual(keys.filter((key) => !firstBatch.has(key)));
  });
});

describe("a message above the size limit of its topic", () => {
  it("goes to the dead letters with its reason and an error in the log; other messages of its row are published", async () => {
    const messages = [event("a"), event("large-a", TOO_LARGE), event("b")];
    await start().publish([await commit(messages)], messages);
    await eventually(() =>
      expect([publishedCount("a"), publishedCount("b"), deadLettersOf("large-a").length]).toEqual([1, 1, 1]),
    );
    expect(deadLettersOf("large-a")[0]).toMatchObject({
      topic: "finance.events",
      group: "test",
      bytes: TOO_LARGE.length,
    });
    expect(deadLettersOf("large-a")[0]?.reason).toMatch("larger than");
    expect(errors.join("")).toContain("large-a");
    await eventually(async () => expect(await rows()).toBe(0));
  });

  it("causes no duplicates of other leftovers: each is published once", async () => {
    for (let index = 0; index < POLL_BATCH + 5; index += 1) await insertLeftover(event(`left-${index}`));
    await insertLeftover(event("large-b", TOO_LARGE), event("beside"));
    await insertLeftover({ topic: TOPICS.commandEvents, key: "huge", value: JSON.stringify("x".repeat(5_000_000)) });
    await insertLeftover(event("behind"));
    start();
    await eventually(async () => expect(await rows()).toBe(0));
    await eventually(() => expect([deadLettersOf("large-b").length, deadLettersOf("huge")[0]?.bytes]).toEqual([1, 0]));
    const before = published.length;
    await insertLeftover(event("later"));
    await eventually(() => expect(publishedCount("later")).toBe(1), { timeoutMs: 5 * POLL_INTERVAL_MS });
    expect(published.length).toBe(before + 1);
    const keys = Array.from({ length: POLL_BATCH + 5 }, (_, index) => `left-${index}`);
    expect([...keys, "beside", "behind"].map(publishedCount)).toEqual([...keys, "", ""].map(() => 1));
  });
});

describe("a batch of leftover rows", () => {
  it("has at most POLL_MAX_BYTES; a larger row is a batch of its own", async () => {
    const row = (bytes: number): OutboxMessage => event("row", "x".repeat(bytes));
    const sizes = [POLL_MAX_BYTES + 1, POLL_MAX_BYTES / 4, POLL_MAX_BYTES / 4, 3_000, 5_000];
    for (const bytes of sizes) await insertLeftover(row(bytes));
    const found: number[][] = [];
    for (let left = sizes.length; left > 0; left -= found.at(-1)?.length ?? left) {
      const batch = await database.query(ROW_PER_TRANSACTION.leftovers, [0, POLL_BATCH, POLL_MAX_BYTES, 0]);
      found.push(batch.map(({ messages }) => messages.length));
      for (const { id } of batch) await database.query(DELETE_ONE, [id]);
    }
    expect(found.map((batch) => batch.length)).toEqual([1, 4]);
  });
});
