/** `kapi admin partitions grow` where one topic already has the new number of partitions. */
import { markerKey, type PartitionGrowth, TOPICS } from "@kapi/contracts";
import {
  createKafka,
  groupsWithMembers,
  type KafkaConnection,
  type Producer,
  readPartitionGrowth,
  startConsumer,
  startProducer,
  topicSizes,
  writePartitionGrowth,
} from "@kapi/kafka";
import { systemClock, toIso } from "@kapi/kernel";
import { createLogger, Scope } from "@kapi/runtime";
import { createTestEnvironment, eventually } from "@kapi/testkit";
import { afterEach, beforeEach, expect, it } from "vitest";

import { startDrainCheck } from "../src/partitions/drained.ts";
import { growPartitions } from "../src/partitions/grow.ts";

/** Number of partitions before and after the growth. */
const [BEFORE, AFTER] = [2, 6];
const TIMEOUT_MS = 1_000;
const logger = createLogger({ service: "test", level: "silent" });

let scope: Scope;
let kafka: KafkaConnection;
let producer: Producer;

beforeEach(async () => {
  scope = new Scope({ stopDeadlineMs: 30_000 });
  const environment = await createTestEnvironment({ needs: ["kafka"], partitions: BEFORE });
  await scope.start("environment", () => ({ value: null, stop: () => environment.stop() }));
  const { kafkaBrokers, topicPrefix } = environment;
  kafka = createKafka({ brokers: kafkaBrokers.split(","), topicPrefix, clientId: "test", logger });
  producer = await scope.start("producer", () => startProducer(kafka));
  const admin = kafka.client({}).admin();
  await admin.connect();
  await admin.createPartitions({ topicPartitions: [{ topic: kafka.topicName(TOPICS.metricsSamples), count: AFTER }] });
  await admin.disconnect();
});

afterEach(() => scope.stop());

/** Writes the record of a run of the command that ended in this phase, before it grew a topic. */
function interrupted(phase: PartitionGrowth["phase"]): Promise<void> {
  const at = toIso(Date.now());
  return writePartitionGrowth(producer, { phase, partitions: AFTER, at, grownAt: null, growing: false });
}

function grow(): Promise<unknown> {
  return growPartitions({
    kafka,
    partitions: AFTER,
    drainTimeoutMs: TIMEOUT_MS,
    endTimeoutMs: TIMEOUT_MS,
    report: () => undefined,
    clock: systemClock,
    logger,
  });
}

it("if processes do not end, the growth is cancelled, and no topic gets more partitions", async () => {
  await scope.start("a process that does not end", () =>
    startConsumer(kafka, {
      groupId: "command-status.events",
      topics: [TOPICS.commandEvents],
      onBatch: () => Promise.resolve({}),
      logger,
      fatal: (error) => {
        throw error;
      },
    }),
  );
  await eventually(async () => expect(await groupsWithMembers(kafka)).toHaveLength(1), { timeoutMs: 20_000 });
  await interrupted("draining");
  await expect(grow()).rejects.toThrow("The growth is cancelled");
  expect(await readPartitionGrowth(kafka)).toMatchObject({ phase: "done", partitions: BEFORE });
  expect((await topicSizes(kafka)).filter(({ partitions }) => partitions === AFTER)).toHaveLength(1);
});

it("if the command was interrupted in the phase `moving` and a record is not handled, the next run does not grow the topics", async () => {
  await producer.send(TOPICS.commandsFinance, { key: "command", value: "{}" });
  await interrupted("moving");
  await expect(grow()).rejects.toThrow("not everything was handled");
  expect((await topicSizes(kafka)).filter(({ partitions }) => partitions === AFTER)).toHaveLength(1);
});

it("if the newest marker is of a deleted topic of samples, the drain check waits for a marker of the recreated topic", async () => {
  const mark = (samplesOffset: number): Promise<unknown> =>
    producer.send(TOPICS.metricsLatest, {
      key: markerKey(1),
      value: JSON.stringify({ samplesOffset, latestOffset: 0 }),
      partition: 1,
    });
  await mark(700);
  const check = await scope.start("drain check", () => startDrainCheck(kafka, TIMEOUT_MS, logger));
  expect(await check.behind()).toEqual(["checkpoints of partition 1 of metrics.samples"]);
  await mark(0);
  await eventually(async () => expect(await check.behind()).toEqual([]));
});
