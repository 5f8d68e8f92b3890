/** How producers send, and when processes start, while topics grow. */
import { type PartitionGrowth, TOPICS } from "@kapi/contracts";
import { delay, toIso } from "@kapi/kernel";
import { createLogger, Scope } from "@kapi/runtime";
import { createTestEnvironment, eventually } from "@kapi/testkit";
import { afterEach, beforeEach, expect, it } from "vitest";

import {
  beginOffsets,
  createKafka,
  growTopics,
  type KafkaConnection,
  partitionOfKey,
  type Producer,
  startGrowthWatch,
  startLogReader,
  startProducer,
  topicSizes,
  writePartitionGrowth,
} from "../src/index.ts";

const [BEFORE, AFTER] = [2, 6];
const TOPIC = TOPICS.commandsFinance;
const logger = createLogger({ service: "test", level: "silent" });

let scope: Scope;
let options: { readonly brokers: string[]; readonly topicPrefix: string };
let command: Producer;

beforeEach(async () => {
  scope = new Scope({ stopDeadlineMs: 30_000 });
  const environment = await createTestEnvironment({ needs: ["kafka"], partitions: BEFORE });
  await scope.start("environment", () => ({ value: null, stop: () => environment.stop() }));
  options = { brokers: environment.kafkaBrokers.split(","), topicPrefix: environment.topicPrefix };
  command = await scope.start("command", () => startProducer(connection()));
});

afterEach(() => scope.stop());

function connection(): KafkaConnection {
  return createKafka({ ...options, clientId: "test", logger });
}

/** Writes the record of `partition.growth`, as the operator's command does. */
function announce(phase: PartitionGrowth["phase"]): Promise<void> {
  return writePartitionGrowth(command, {
    phase,
    partitions: AFTER,
    at: toIso(Date.now()),
    grownAt: null,
    growing: false,
  });
}

/**
 * Starts the growth watch and the producer of a process: a source, or with `isSource` false a
 * consuming process. `ended` says whether the growth watch asked the process to end.
 */
async function startProcess(isSource: boolean) {
  const kafka = connection();
  const state = { ended: false };
  const end = { end: () => (state.ended = true) };
  const growth = await scope.start("growth", () => startGrowthWatch(kafka, { logger, ...(isSource ? {} : end) }));
  const producer = await scope.start("producer", () => startProducer(kafka, { isSource, produceTimeoutMs: 20_000 }));
  return { growth, producer, state };
}

/** All values of the topic, by partition, in the order of the log. */
async function read(): Promise<Map<number, string[]>> {
  const found = new Map<number, string[]>();
  const reader = await startLogReader(connection(), {
    topic: TOPIC,
    from: "beginning",
    onBatch: (partition, messages) => {
      found.set(partition, [...(found.get(partition) ?? []), ...messages.map(({ value }) => value.toString())]);
    },
    logger,
    fatal: (error) => {
      throw error;
    },
  });
  await reader.value.caughtUp;
  await reader.stop();
  return found;
}

it("a source keeps its messages until the topics have grown, and sends them to the new partitions in order", async () => {
  const { growth, producer } = await startProcess(true);
  await producer.send(TOPIC, { key: "before", value: "before" });
  await announce("draining");
  await eventually(() => expect(growth.growth?.phase).toBe("draining"));
  const keys = Array.from({ length: 20 }, (_, number) => `key ${number}`);
  const sends = [1, 2, 3].flatMap((round) =>
    keys.map((key) => producer.send(TOPIC, { key, value: `${key} ${round}` })),
  );
  await delay(300);
  await announce("moving");
  await growTopics(connection(), AFTER);
  expect([...(await read()).values()].flat()).toEqual(["before"]);
  await announce("done");
  await Promise.all(sends);
  const found = await read();
  for (const key of keys) {
    const values = found.get(partitionOfKey(key, AFTER))?.filter((value) => value.startsWith(`${key} `));
    expect(values).toEqual([1, 2, 3].map((round) => `${key} ${round}`));
  }
  expect([...found.values()].flat()).toHaveLength(1 + sends.length);
  expect(producer.partitionOf(TOPIC, "key 1")).toBe(partitionOfKey("key 1", AFTER));
});

it("in `draining` a consuming process still sends; in `moving` it is asked to end, and sends nothing more", async () => {
  const { producer, state } = await startProcess(false);
  await announce("draining");
  await producer.send(TOPIC, { key: "a", value: "while draining" });
  await announce("moving");
  await eventually(() => expect(state.ended).toBe(true));
  await expect(producer.send(TOPIC, { key: "a", value: "late" })).rejects.toThrow("topics are being grown");
  await announce("done");
  await expect(producer.send(TOPIC, { key: "a", value: "late" })).rejects.toThrow("topics are being grown");
});

it("a consuming process starts only after the phase `moving`", async () => {
  await announce("moving");
  let started = false;
  const starting = startProcess(false).then(() => (started = true));
  await delay(1_500);
  expect(started).toBe(false);
  await announce("done");
  await starting;
});

it("`growTopics` grows every topic of `GROWING_TOPICS`, but not the directory, and can be repeated", async () => {
  const directory = async () => (await beginOffsets(connection(), TOPICS.organizationDirectory)).size;
  const before = await directory();
  await growTopics(connection(), AFTER);
  await growTopics(connection(), AFTER);
  const sizes = await topicSizes(connection());
  expect(new Set(sizes.map(({ partitions }) => partitions))).toEqual(new Set([AFTER]));
  expect(await directory()).toBe(before);
});
