import { TOPICS } from "@kapi/contracts";
import { deferred, delay } from "@kapi/kernel";
import type { Started } from "@kapi/runtime";
import { afterAll, beforeAll, expect, test } from "vitest";

import {
  beginOffsets,
  startLogReader,
  startProducer,
  endOffsets,
  type KafkaConnection,
  type LogReader,
  type LogReaderOptions,
  offsetsForTime,
  type Producer,
} from "../src/index.ts";
import { withMethods, deleteRecords, logger, ownTopics, unexpected, until, withCluster } from "./support.ts";

/** Longer than a reader needs to start fetching again after a failed fetch. */
const HANDLER_MS = 500;
/** The clock runs this many times faster: 30 s without a fetch are 1.5 s. */
const SPEED = 20;
const LONGER_THAN_STALLED_MS = 40_000;

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

async function reader(
  options: Partial<LogReaderOptions> & Pick<LogReaderOptions, "topic">,
): Promise<{ started: Started<LogReader>; values: string[] }> {
  const values: string[] = [];
  const started = await startLogReader(kafka, {
    from: "beginning",
    logger,
    fatal: unexpected,
    onBatch: (_partition, messages) => void values.push(...messages.map(({ value }) => value.toString())),
    ...options,
  });
  return { started, values };
}

test("a reader of an empty topic is caught up at once", async () => {
  const { started, values } = await reader({ topic: TOPICS.commandsExport });
  await started.value.caughtUp;
  expect(values).toEqual([]);
  expect(started.value.position(0)).toBe(0n);
  await started.stop();
});

test("a reader that is caught up has handled all existing records, and continues with new ones", async () => {
  for (let index = 0; index < 300; index += 1) {
    await producer.value.send(TOPICS.organizationDirectory, { key: `k${index % 2}`, value: String(index) });
  }
  const { started, values } = await reader({ topic: TOPICS.organizationDirectory });
  await started.value.caughtUp;
  expect(values).toHaveLength(300);
  const { partition, offset } = await producer.value.send(TOPICS.organizationDirectory, { key: "k0", value: "new" });
  await started.value.waitFor(new Map([[partition, offset + 1n]]), 5_000);
  expect(values.at(-1)).toBe("new");
  expect(started.value.position(partition)).toBe(offset + 1n);
  expect(started.value.check()).toBeNull();
  await started.stop();
  expect(started.value.check()).not.toBeNull();
});

test("a reader begins at the given offset, even in the middle of a record batch", async () => {
  const sends = Array.from({ length: 10 }, (_, index) =>
    producer.value.send(TOPICS.commandsAccount, { key: "same", value: String(index) }),
  );
  const [first] = await Promise.all(sends);
  const partition = first?.partition ?? -1;
  const { started, values } = await reader({ topic: TOPICS.commandsAccount, from: new Map([[partition, 6n]]) });
  await started.value.caughtUp;
  expect(values).toEqual(["6", "7", "8", "9"]);
  await started.stop();
});

test("a reader starts at the beginning if the records at its offset were deleted, and rejects an offset beyond the end", async () => {
  const { partition } = await producer.value.send(TOPICS.commandsFinance, { key: "k", value: "deleted" });
  await producer.value.send(TOPICS.commandsFinance, { key: "k", value: "kept" });
  await deleteRecords(kafka, TOPICS.commandsFinance, partition, 1n);
  expect((await beginOffsets(kafka, TOPICS.commandsFinance)).get(partition)).toBe(1n);
  const from = (wanted: bigint) => reader({ topic: TOPICS.commandsFinance, from: new Map([[partition, wanted]]) });
  const { started, values } = await from(0n);
  await started.value.caughtUp;
  expect(values).toEqual(["kept"]);
  await started.stop();
  await expect(from(3n)).rejects.toThrow(/position 3 is beyond the end \(2\) .* deleted and created again/);
});

test("a reader is caught up if all records up to the end are removed", async () => {
  const { partition, offset } = await producer.value.send(TOPICS.tradingEvents, { key: "k", value: "deleted" });
  await deleteRecords(kafka, TOPICS.tradingEvents, partition, offset + 1n);
  const { started, values } = await reader({ topic: TOPICS.tradingEvents });
  await started.value.caughtUp;
  expect(values).toEqual([]);
  expect(started.value.position(partition)).toBe(offset + 1n);
  await started.stop();
});

test("`remove` resolves, even after the handler of the reader has failed or the reader has stopped", async () => {
  await producer.value.send(TOPICS.commandsExport, { key: "k", value: "fails" });
  const failed = Promise.withResolvers<Error>();
  const onBatch = () => Promise.reject(new Error("the handler failed"));
  const { started } = await reader({ topic: TOPICS.commandsExport, onBatch, fatal: failed.resolve });
  const all = [...(await beginOffsets(kafka, TOPICS.commandsExport)).keys()];
  expect((await failed.promise).message).toBe("the handler failed");
  await started.value.remove(all);
  await started.stop();
  await started.value.remove(all);
});

test("records of many fetches are handled once and in order, one batch of a partition at a time", async () => {
  const each = Array.from({ length: 12_000 }, (_, index) => `${index} ${"x".repeat(300)}`);
  for (let start = 0; start < each.length; start += 2_000) {
    const some = each.slice(start, start + 2_000);
    await Promise.all(some.map((value) => producer.value.send(TOPICS.metricsSamples, { key: "same", value })));
  }
  const values: string[] = [];
  let running = 0;
  const { started } = await reader({
    topic: TOPICS.metricsSamples,
    onBatch: async (partition, messages) => {
      running += 1;
      expect(running).toBe(1);
      expect(messages[0]?.offset).toBe(started.value.position(partition));
      await new Promise(setImmediate);
      values.push(...messages.map(({ value }) => value.toString()));
      running -= 1;
    },
  });
  await started.value.caughtUp;
  expect(values).toEqual(each);
  await started.stop();
});

test("the position moves only after a batch has been handled", async () => {
  const handled = deferred<void>();
  let called = false;
  const { partition } = await producer.value.send(TOPICS.financeEvents, { key: "k", value: "v" });
  const { started } = await reader({
    topic: TOPICS.financeEvents,
    onBatch: () => {
      called = true;
      return handled.promise;
    },
  });
  await until("the batch is handed over", () => called);
  expect(started.value.position(partition)).toBe(0n);
  handled.resolve();
  await started.value.caughtUp;
  expect(started.value.position(partition)).toBe(1n);
  await started.stop();
});

test("if the fetch of one broker fails while a handler runs, no partition is handled twice at once", async () => {
  const topic = TOPICS.commandEvents;
  await Promise.all(
    [0, 1].map((partition) => producer.value.send(topic, { key: "k", value: `${partition}`, partition })),
  );
  const values: string[] = [];
  const running = new Map<number, number>();
  let overlaps = 0;
  let failures = 0;
  // One broker has two names, so a separate loop fetches partition 1.
  const split = withCluster(kafka, (cluster) =>
    withMethods(cluster, {
      findLeaderForPartitions: (name: string, partitions: number[]) => {
        const [[leader] = ["1"]] = Object.entries(cluster.findLeaderForPartitions(name, partitions));
        return { [leader]: partitions.filter((partition) => partition !== 1), other: [1] };
      },
      findBroker: async ({ nodeId }: { nodeId: string }) => {
        if (nodeId !== "other") return cluster.findBroker({ nodeId });
        await until("the other loop's handler runs", () => running.get(0) === 1 || failures > 0);
        if (failures === 0) {
          failures += 1;
          throw new Error("the broker is unavailable");
        }
        const [[leader] = ["1"]] = Object.entries(cluster.findLeaderForPartitions(kafka.topicName(topic), [1]));
        return cluster.findBroker({ nodeId: leader });
      },
    }),
  );
  const started = await startLogReader(split, {
    topic,
    from: "beginning",
    logger,
    fatal: unexpected,
    onBatch: async (partition, messages) => {
      const runningHere = running.get(partition) ?? 0;
      if (runningHere > 0) overlaps += 1;
      running.set(partition, runningHere + 1);
      await delay(HANDLER_MS);
      values.push(...messages.map(({ value }) => value.toString()));
      running.set(partition, runningHere);
    },
  });
  await started.value.caughtUp;
  expect({ failures, overlaps, values: values.toSorted() }).toEqual({ failures: 1, overlaps: 0, values: ["0", "1"] });
  await started.stop();
});

test.each([
  [
    "whose cluster is unavailable waits for it, and is healthy",
    Object.assign(new Error("refused"), { code: "ECONNREFUSED" }),
    null,
  ],
  [
    "whose fetches fail for another reason is unhealthy",
    new Error("broken"),
    /^no fetch of .* was answered for \d+ ms$/,
  ],
])("a reader %s", async (_name, error, problem) => {
  const topic = TOPICS.financeEvents;
  let isFailing = false;
  const cut = withCluster(kafka, (cluster) => {
    const fails = (name: "findBroker" | "connect" | "refreshMetadata" | "refreshMetadataIfNecessary") => {
      const method = cluster[name].bind(cluster) as (...args: unknown[]) => Promise<unknown>;
      return (...args: unknown[]) => (isFailing ? Promise.reject(error) : method(...args));
    };
    const { findBroker, connect } = { findBroker: fails("findBroker"), connect: fails("connect") };
    const [refreshMetadata, refreshMetadataIfNecessary] = [
      fails("refreshMetadata"),
      fails("refreshMetadataIfNecessary"),
    ];
    return withMethods(cluster, { findBroker, connect, refreshMetadata, refreshMetadataIfNecessary });
  });
  const clock = { nowMs: () => Math.round(performance.now() * SPEED) };
  const values: string[] = [];
  const started = await startLogReader(cut, {
    topic,
    from: new Map(await endOffsets(kafka, topic)),
    logger,
    clock,
    fatal: unexpected,
    onBatch: (_partition, messages) => void values.push(...messages.map(({ value }) => value.toString())),
  });
  await started.value.caughtUp;
  isFailing = true;
  const sinceMs = clock.nowMs();
  await until("the reader would have stalled", () => clock.nowMs() > sinceMs + LONGER_THAN_STALLED_MS);
  if (problem === null) expect(started.value.check()).toBeNull();
  else expect(started.value.check()).toMatch(problem);
  isFailing = false;
  await producer.value.send(topic, { key: "k", value: "after" });
  await until("the reader continues", () => values.includes("after") && started.value.check() === null);
  await started.stop();
});

test("waiting for an end rejects after its timeout", async () => {
  const { started } = await reader({ topic: TOPICS.creditsEvents });
  await expect(started.value.waitFor(new Map([[0, 1n]]), 50)).rejects.toThrow("within 50 ms");
  await started.stop();
});

test("a handler that throws stops the reader and is reported once", async () => {
  const errors: Error[] = [];
  await producer.value.send(TOPICS.accountEvents, { key: "k", value: "v" });
  const { started } = await reader({
    topic: TOPICS.accountEvents,
    onBatch: () => Promise.reject(new Error("broken state")),
    fatal: (error) => void errors.push(error),
  });
  await until("fatal is called", () => errors.length > 0);
  expect(errors.map(({ message }) => message)).toEqual(["broken state"]);
  expect(started.value.check()).not.toBeNull();
  await started.stop();
});

test("a handler that throws after the stop is not reported", async () => {
  const errors: Error[] = [];
  const called = Promise.withResolvers<void>();
  const stopped = Promise.withResolvers<void>();
  await producer.value.send(TOPICS.accountEvents, { key: "k", value: "v" });
  const { started } = await reader({
    topic: TOPICS.accountEvents,
    onBatch: async () => {
      called.resolve();
      await stopped.promise;
      throw new Error("the database is closed");
    },
    fatal: (error) => void errors.push(error),
  });
  await called.promise;
  const stopping = started.stop();
  stopped.resolve();
  await stopping;
  expect(errors).toEqual([]);
});

test("the offset for a time is that of the first record created at this time or later, or the end if there is none", async () => {
  const { partition } = await producer.value.send(TOPICS.deadLetter, { key: "k", value: "v" });
  const hourMs = 3_600_000;
  const now = Date.now();
  expect((await offsetsForTime(kafka, TOPICS.deadLetter, now - hourMs)).get(partition)).toBe(0n);
  expect((await offsetsForTime(kafka, TOPICS.deadLetter, now + hourMs)).get(partition)).toBe(1n);
  expect((await endOffsets(kafka, TOPICS.deadLetter)).get(partition)).toBe(1n);
});

test("a reader that starts without partitions reads each added partition, and no record of a removed partition", async () => {
  const topic = TOPICS.creditsEvents;
  const sent = await Promise.all(
    Array.from({ length: 40 }, (_, index) => producer.value.send(topic, { key: `key-${index}`, value: String(index) })),
  );
  const [first = -1, second = -1] = [...new Set(sent.map(({ partition }) => partition))];
  const read: { partition: number; offset: bigint }[] = [];
  const { started } = await reader({
    topic,
    from: "nothing",
    onBatch: (partition, messages) => void read.push(...messages.map(({ offset }) => ({ partition, offset }))),
  });
  await started.value.caughtUp;
  expect([read, started.value.check()]).toEqual([[], null]);
  const countOf = (partition: number): number => read.filter((one) => one.partition === partition).length;
  const sentTo = (partition: number): number => sent.filter((one) => one.partition === partition).length;

  await started.value.add(new Map([[first, "beginning"]]));
  expect([countOf(first), countOf(second)]).toEqual([sentTo(first), 0]);
  await started.value.add(new Map([[second, 1n]]));
  expect([countOf(first), countOf(second)]).toEqual([sentTo(first), sentTo(second) - 1]);

  const waiting = started.value.waitFor(new Map([[first, 1_000n]]), 30_000);
  const rejected = expect(waiting).rejects.toThrow(`partition ${first}`);
  await started.value.remove([first]);
  await rejected;
  const sends = Array.from({ length: 40 }, (_, index) =>
    producer.value.send(topic, { key: `key-${index}`, value: "more" }),
  );
  await Promise.all(sends);
  await started.value.waitFor(new Map([[second, BigInt(2 * sentTo(second))]]), 5_000);
  expect([countOf(first), countOf(second)]).toEqual([sentTo(first), 2 * sentTo(second) - 1]);
  await started.value.add(new Map([[first, "beginning"]]));
  expect(countOf(first)).toBe(3 * sentTo(first));
  await started.stop();
});
