/** What a producer does with messages that wait while topics grow. */
import { type PartitionGrowth, TOPICS } from "@kapi/contracts";
import { type Deferred, deferred, delay } from "@kapi/kernel";
import { expect, it } from "vitest";

import { fakeConnection } from "../test/fake-connection.ts";
import type { GrowingProducer, GrowthWatch } from "./growth.ts";
import { partitionOfKey } from "./partitioner.ts";
import { startProducer } from "./producer.ts";

const [BEFORE, AFTER] = [2, 6];
const [KEYED, NUMBERED] = [TOPICS.commandsFinance, TOPICS.metricsSamples];
const GROWN = new Map([KEYED, NUMBERED].map(({ name }) => [name, AFTER]));
const DONE: PartitionGrowth = {
  phase: "done",
  partitions: AFTER,
  at: "2026-11-29T00:00:00.000Z",
  grownAt: null,
  growing: false,
};
/** A key that belongs to another partition after the growth. */
const KEY = Array.from({ length: 50 }, (_, index) => `key-${index}`).find(
  (key) => partitionOfKey(key, BEFORE) !== partitionOfKey(key, AFTER),
) as string;

interface Produced {
  readonly topicData: readonly {
    readonly topic: string;
    readonly partitions: readonly { readonly partition: number }[];
  }[];
}

/** A cluster with one broker, which stores every message. */
function clusterWith(refreshed: Deferred<void>): object {
  const produce = ({ topicData }: Produced) =>
    Promise.resolve({
      topics: topicData.map(({ topic, partitions }) => ({
        topicName: topic,
        partitions: partitions.map(({ partition }) => ({ partition, errorCode: 0, baseOffset: "0" })),
      })),
    });
  return {
    connect: () => Promise.resolve(),
    refreshMetadata: () => refreshed.promise,
    findTopicPartitionMetadata: () => Array.from({ length: AFTER }, (_, partitionId) => ({ partitionId, leader: 1 })),
    findBroker: () => Promise.resolve({ produce }),
  };
}

/**
 * Starts the producer of a process that may not send until `growth.isOpen`. `growsMeanwhile`: the
 * growth is applied while the producer reads the numbers of partitions.
 */
async function start({ growsMeanwhile = false, produceTimeoutMs = 10_000 } = {}) {
  const refreshed = deferred<void>();
  const growth = { growth: null as PartitionGrowth | null, isOpen: false, producers: new Set<GrowingProducer>() };
  const fetchTopicMetadata = () => {
    const count = growth.growth === null ? BEFORE : AFTER;
    if (growsMeanwhile) growth.growth = DONE;
    const topics = [KEYED, NUMBERED].map(({ name }) => ({ name, partitions: Array.from({ length: count }) }));
    return Promise.resolve({ topics } as never);
  };
  const watch: GrowthWatch = {
    get growth() {
      return growth.growth;
    },
    mayPublish: () => growth.isOpen,
    add: (producer) => {
      growth.producers.add(producer);
      return () => growth.producers.delete(producer);
    },
    onGrown: () => undefined,
  };
  const kafka = { ...fakeConnection(clusterWith(refreshed), { fetchTopicMetadata }), growth: watch };
  const { value: producer } = await startProducer(kafka, { isSource: true, produceTimeoutMs });
  const repartition = async (counts: ReadonlyMap<string, number>): Promise<void> => {
    for (const one of growth.producers) await one.repartition(counts);
  };
  return { producer, growth, refreshed, repartition };
}

it("the producer chooses the partition again for a message that is sent while the leaders of the partitions are read after a growth", async () => {
  const { producer, growth, refreshed, repartition } = await start();
  const repartitioned = repartition(GROWN);
  await delay(0);
  const during = producer.send(KEYED, { key: KEY, value: "1" });
  refreshed.resolve();
  await repartitioned;
  growth.isOpen = true;
  const after = producer.send(KEYED, { key: KEY, value: "2" });
  expect((await during).partition).toBe((await after).partition);
});

it("the producer leaves messages in their queues if a topic is missing in the new numbers of partitions", async () => {
  const { producer, growth, refreshed, repartition } = await start({ produceTimeoutMs: 300 });
  refreshed.resolve();
  const late = producer.send(KEYED, { key: KEY, value: "1" });
  await expect(repartition(new Map([["other", AFTER]]))).rejects.toThrow(`topic ${KEYED.name}`);
  await expect(late).rejects.toThrow("not sent within its deadline");
  const sent = producer.send(KEYED, { key: KEY, value: "2" });
  await repartition(GROWN);
  growth.isOpen = true;
  expect(await sent).toMatchObject({ partition: partitionOfKey(KEY, AFTER) });
});

it("the producer keeps the partition that the caller of `send` has chosen", async () => {
  const { producer, growth, refreshed, repartition } = await start();
  refreshed.resolve();
  const partition = (partitionOfKey(KEY, AFTER) + 1) % BEFORE;
  const sent = producer.send(NUMBERED, { key: KEY, value: "1", partition });
  await repartition(GROWN);
  growth.isOpen = true;
  expect(await sent).toMatchObject({ partition });
});

it("the producer uses the new numbers of partitions if the topics grow while it starts", async () => {
  const { producer } = await start({ growsMeanwhile: true });
  expect(producer.partitionOf(KEYED, KEY)).toBe(partitionOfKey(KEY, AFTER));
});
