import { TOPICS, type TopicContract } from "@kapi/contracts";
import { deferred, delay } from "@kapi/kernel";
import type { Started } from "@kapi/runtime";
import { afterAll, beforeAll, expect, test } from "vitest";

import {
  type Batch,
  type Consumer,
  type ConsumerOptions,
  startConsumer,
  startLogReader,
  startProducer,
  type KafkaConnection,
  type Message,
  type Producer,
  RetryableError,
} from "../src/index.ts";
import { logger, ownTopics, PARTITIONS, unexpected, until } from "./support.ts";

/** Short, for a fast test. The brokers of the test run allow 1 s or more (`libs/servers`). */
const SESSION_TIMEOUT_MS = 2_000;

let kafka: KafkaConnection;
let drop: () => Promise<void>;
let producer: Started<Producer>;

beforeAll(async () => {
  ({ kafka, drop } = await ownTopics());
  producer = await startProducer(kafka);
});
afterAll(async () => {
  await producer.stop();
  await drop();
});

function consumer(
  topic: TopicContract,
  options: Partial<ConsumerOptions> & Pick<ConsumerOptions, "groupId" | "onBatch">,
): Promise<Started<Consumer>> {
  return startConsumer(kafka, { topics: [topic], logger, fatal: unexpected, heartbeatIntervalMs: 200, ...options });
}

async function publish(topic: TopicContract, count: number, partition?: number): Promise<string[]> {
  const values = Array.from({ length: count }, (_, index) => `${topic.name} ${index}`);
  const where = partition === undefined ? {} : { partition };
  await Promise.all(values.map((value, index) => producer.value.send(topic, { key: `k${index}`, value, ...where })));
  return values;
}

function textsOf(batch: { messages: readonly Message[] }): string[] {
  return batch.messages.map(({ value }) => value.toString());
}

test("messages sent before the group existed arrive, and a restarted consumer continues after them", async () => {
  const topic = TOPICS.commandsAccount;
  const first = await publish(topic, 100);
  const seen: string[] = [];
  const onBatch = (batch: Batch): Promise<object> => {
    seen.push(...textsOf(batch));
    return Promise.resolve({});
  };
  const one = await consumer(topic, { groupId: "restart", onBatch });
  await until("all messages are handled", () => seen.length >= first.length);
  expect(one.value.check()).toBeNull();
  await one.stop();
  const { partition } = await producer.value.send(topic, { key: "k", value: "later" });
  expect(partition).toBeGreaterThanOrEqual(0);
  const two = await consumer(topic, { groupId: "restart", onBatch });
  await until("the later message is handled", () => seen.includes("later"));
  await two.stop();
  expect(seen.toSorted()).toEqual([...first, "later"].toSorted());
});

test("a stopped consumer has left its group, even if a broker still holds the consumer's fetch request", async () => {
  const held = { groupId: "held-fetch", maxWaitTimeInMs: 60_000, onBatch: () => Promise.resolve({}) };
  const started = await consumer(TOPICS.accountEvents, held);
  // The fetch begins after the join.
  await delay(500);
  await started.stop();
  const admin = kafka.client().admin();
  await admin.connect();
  const [group] = (await admin.describeGroups([`${kafka.topicPrefix}held-fetch`])).groups;
  await admin.disconnect();
  expect(group?.members).toEqual([]);
});

test("after a restart, a consumer reads again the messages from the `commitOffset` that its handler returned", async () => {
  const topic = TOPICS.commandsExport;
  await publish(topic, 10, 2);
  const seen: string[] = [];
  const one = await consumer(topic, {
    groupId: "held",
    onBatch: (batch) => {
      seen.push(...textsOf(batch));
      return Promise.resolve({ commitOffset: 4n });
    },
  });
  await until("all messages are handled", () => seen.length === 10);
  await one.stop();
  seen.length = 0;
  const two = await consumer(topic, {
    groupId: "held",
    onBatch: (batch) => Promise.resolve(void seen.push(...textsOf(batch))).then(() => ({})),
  });
  await until("the messages from `commitOffset` on are handled again", () => seen.length === 6);
  await two.stop();
  expect(seen[0]).toBe(`${topic.name} 4`);
});

test("no batch exceeds its limit, and batches of one partition come in order", async () => {
  const topic = TOPICS.commandsFinance;
  const values = await publish(topic, 50, 1);
  const batches: string[][] = [];
  const started = await consumer(topic, {
    groupId: "limit",
    maxBatchMessages: 8,
    onBatch: (batch) => Promise.resolve(void batches.push(textsOf(batch))).then(() => ({})),
  });
  await until("all messages are handled", () => batches.flat().length === values.length);
  await started.stop();
  expect(batches.flat()).toEqual(values);
  expect(Math.max(...batches.map(({ length }) => length))).toBeLessThanOrEqual(8);
});

test("a batch with a retryable error is retried from the same message, while other partitions continue", async () => {
  const topic = TOPICS.tradingEvents;
  const blocked = await publish(topic, 5, 0);
  let open = false;
  const tries: string[][] = [];
  const done: string[] = [];
  const started = await consumer(topic, {
    groupId: "retry",
    onBatch: (batch) => {
      if (batch.partition === 0) tries.push(textsOf(batch));
      if (batch.partition === 0 && !open) return Promise.reject(new RetryableError("not yet"));
      done.push(...textsOf(batch));
      return Promise.resolve({});
    },
  });
  await until("the batch was tried twice", () => tries.length >= 2);
  await producer.value.send(topic, { key: "other", value: "other partition", partition: 3 });
  await until("the other partition continues", () => done.includes("other partition"));
  expect(done).toEqual(["other partition"]);
  open = true;
  await until("the batch has succeeded", () => done.length === blocked.length + 1);
  await started.stop();
  expect(done.slice(1)).toEqual(blocked);
  expect(tries.every(([first]) => first === blocked[0])).toBe(true);
});

test("an error of the handler that is not a `RetryableError` stops the consumer and is reported once; the next consumer reads the messages again", async () => {
  const topic = TOPICS.accountEvents;
  const values = await publish(topic, 3, 1);
  const errors: Error[] = [];
  let calls = 0;
  const one = await consumer(topic, {
    groupId: "fatal",
    fatal: (error) => void errors.push(error),
    onBatch: () => {
      calls += 1;
      return Promise.reject(new TypeError("a bug in the handler"));
    },
  });
  await until("fatal is called", () => errors.length > 0);
  expect(one.value.check()).toContain("failed");
  await one.stop();
  expect({ errors: errors.map(({ message }) => message), calls }).toEqual({
    errors: ["a bug in the handler"],
    calls: 1,
  });
  const seen: string[] = [];
  const two = await consumer(topic, {
    groupId: "fatal",
    onBatch: (batch) => Promise.resolve(void seen.push(...textsOf(batch))).then(() => ({})),
  });
  await until("the messages are read again", () => seen.length === values.length);
  await two.stop();
});

test("a dead letter names its origin and reason, and carries the value only with `includeValue`", async () => {
  const topic = TOPICS.financeEvents;
  await producer.value.send(topic, { key: "a", value: "sealed", partition: 2 });
  await producer.value.send(topic, { key: "b", value: "open", partition: 2 });
  let handled = 0;
  const started = await consumer(topic, {
    groupId: "dead",
    onBatch: ({ messages }) => {
      handled += messages.length;
      const deadLetters = messages.map((message) => ({
        message,
        reason: "cannot be read",
        includeValue: message.key === "b",
      }));
      return Promise.resolve({ deadLetters });
    },
  });
  const letters: Message[] = [];
  const reader = await startLogReader(kafka, {
    topic: TOPICS.deadLetter,
    from: "beginning",
    logger,
    fatal: unexpected,
    onBatch: (_partition, messages) => void letters.push(...messages),
  });
  await until("both dead letters are published", () => letters.length === 2);
  await reader.stop();
  await started.stop();
  expect(handled).toBe(2);
  const byKey = new Map(letters.map((letter) => [letter.key, letter]));
  expect(byKey.get("a")?.value.toString()).toBe("");
  expect(byKey.get("b")?.value.toString()).toBe("open");
  expect(byKey.get("b")?.headers).toEqual({
    reason: "cannot be read",
    topic: topic.name,
    partition: "2",
    offset: "1",
    group: "dead",
  });
});

test("when a second process joins, the two never handle a partition at the same time, and no message is skipped or repeated", async () => {
  const topic = TOPICS.commandEvents;
  const seen = new Map<string, number>();
  const running = new Map<number, string>();
  const owned = new Map<string, number[]>();
  const overlaps: string[] = [];
  const member = (name: string): Promise<Started<Consumer>> =>
    consumer(topic, {
      groupId: "two",
      onAssigned: (assignment) => {
        const own = [...running].filter(([, runner]) => runner === name);
        if (own.length > 0) overlaps.push(`${name} was assigned while a batch ran`);
        owned.set(
          name,
          assignment.flatMap(({ partitions }) => partitions),
        );
        return Promise.resolve();
      },
      onBatch: async ({ partition, messages }) => {
        if (owned.get(name)?.includes(partition) !== true) overlaps.push(`${name} handles ${partition}, not its own`);
        const other = running.get(partition);
        if (other !== undefined) overlaps.push(`${name} and ${other} both handle ${partition}`);
        running.set(partition, name);
        await delay(5);
        for (const text of textsOf({ messages })) seen.set(text, (seen.get(text) ?? 0) + 1);
        running.delete(partition);
        return {};
      },
    });
  const one = await member("one");
  const enough = new AbortController();
  const sent: string[] = [];
  const sender = (async () => {
    while (!enough.signal.aborted) {
      const value = `event ${sent.length}`;
      await producer.value.send(topic, { key: value, value });
      sent.push(value);
    }
  })();
  await until("the first process handles messages", () => seen.size > 20);
  const two = await member("two");
  await until("both have partitions", () => owned.get("one")?.length === 2 && owned.get("two")?.length === 2);
  const before = seen.size;
  await until("both handle messages", () => seen.size > before + 50);
  await one.stop();
  await until("the second has all partitions", () => owned.get("two")?.length === PARTITIONS);
  enough.abort();
  await sender;
  await until("every message was handled", () => seen.size === sent.length);
  await two.stop();
  expect(overlaps).toEqual([]);
  expect([...seen.values()].filter((times) => times > 1)).toEqual([]);
});

test("a member whose batch takes longer than the session timeout stays in its group", async () => {
  const topic = TOPICS.creditsEvents;
  await publish(topic, 1, 0);
  const finish = deferred<void>();
  const assignments: number[] = [];
  let handled = 0;
  const started = await startConsumer(
    { ...kafka, sessionTimeoutMs: SESSION_TIMEOUT_MS },
    {
      topics: [topic],
      logger,
      fatal: unexpected,
      groupId: "long",
      onAssigned: (assignment) => Promise.resolve(void assignments.push(assignment.length)),
      onBatch: async () => {
        handled += 1;
        await finish.promise;
        return {};
      },
    },
  );
  await until("the batch has begun", () => handled === 1);
  const admin = kafka.client().admin();
  await admin.connect();
  const groupId = `${kafka.topicPrefix}long`;
  await delay(SESSION_TIMEOUT_MS + 1_000);
  const [group] = (await admin.describeGroups([groupId])).groups;
  expect(group?.members).toHaveLength(1);
  finish.resolve();
  await until("the offset is committed", async () => {
    const [found] = await admin.fetchOffsets({ groupId, topics: [kafka.topicName(topic)] });
    return found?.partitions.some(({ partition, offset }) => partition === 0 && offset === "1") === true;
  });
  await admin.disconnect();
  await started.stop();
  expect({ handled, assignments }).toEqual({ handled: 1, assignments: [1] });
});
