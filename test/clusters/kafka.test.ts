import { TOPICS, type TopicContract } from "@kapi/contracts";
import {
  type Consumer,
  startConsumer,
  createKafka,
  startLogReader,
  startProducer,
  createTopics,
  type KafkaConnection,
  type LogReader,
  ProduceError,
  type Producer,
} from "@kapi/kafka";
import { assertDefined, delay } from "@kapi/kernel";
import { createLogger, type Started } from "@kapi/runtime";
import { type KafkaCluster, startKafkaCluster } from "@kapi/servers";
import { eventually, startTestServers } from "@kapi/testkit";
import type { Admin } from "kafkajs";
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";

const TOPIC = TOPICS.commandsFinance;
/**
 * A topic whose partitions have one replica each. A partition has no leader while the broker with
 * the replica is stopped.
 */
const UNREPLICATED = TOPICS.commandsExport;
const GROUP = "group";
const PARTITIONS = 6;
const MEMBERS = 2;
const SEND_INTERVAL_MS = 50;
/** A stopped broker is fenced after 9 s. Its partitions and groups then move to other brokers. */
const RECOVERY_MS = 40_000;
/** The client waits half this time for a reply, and then uses another connection to the broker. */
const PRODUCE_TIMEOUT_MS = 4_000;

const logger = createLogger({ service: "kafka-cluster-test", level: "error" });
const fatal: Error[] = [];
let cluster: KafkaCluster;
let kafka: KafkaConnection;
let admin: Admin;
let producer: Started<Producer>;
let reader: Started<LogReader>;
let unreplicatedReader: Started<LogReader>;
const members: Started<Consumer>[] = [];
const handled = new Set<string>();
const read = new Set<string>();
let sent = 0;

beforeAll(async () => {
  cluster = await startTestServers(startKafkaCluster);
  const connection = (clientId: string): KafkaConnection =>
    createKafka({ brokers: cluster.brokers.split(","), clientId, topicPrefix: "", logger });
  kafka = connection("test");
  admin = kafka.client().admin();
  await admin.connect();
  const replicaAssignment = cluster.nodes.map(({ id }, partition) => ({ partition, replicas: [id] }));
  await admin.createTopics({ topics: [{ topic: UNREPLICATED.name, replicaAssignment }], waitForLeaders: false });
  await createTopics(kafka, { partitions: PARTITIONS, replicationFactor: 3, minInsyncReplicas: 2 });
  for (let index = 0; index < MEMBERS; index += 1) {
    members.push(
      await startConsumer(connection(`member-${index}`), {
        topics: [TOPIC, UNREPLICATED],
        groupId: GROUP,
        logger,
        fatal: (error) => void fatal.push(error),
        onBatch: ({ messages }) => {
          for (const { value } of messages) handled.add(value.toString());
          return Promise.resolve({});
        },
      }),
    );
  }
  reader = await startLogReader(connection("reader"), {
    topic: TOPIC,
    from: "beginning",
    logger,
    fatal: (error) => void fatal.push(error),
    onBatch: (_partition, messages) => {
      for (const { value } of messages) read.add(value.toString());
    },
  });
  unreplicatedReader = await startLogReader(connection("unreplicated-reader"), {
    topic: UNREPLICATED,
    from: "beginning",
    logger,
    fatal: (error) => void fatal.push(error),
    onBatch: (_partition, messages) => {
      for (const { value } of messages) read.add(value.toString());
    },
  });
  producer = await startProducer(connection("producer"), { produceTimeoutMs: PRODUCE_TIMEOUT_MS });
}, 180_000);

afterEach(() => expect(fatal).toEqual([]));

afterAll(async () => {
  await Promise.all([producer, reader, unreplicatedReader, ...members].map((started) => started.stop()));
  await admin.disconnect();
  await cluster.stop();
});

function send(partition: number, topic: TopicContract = TOPIC): Promise<string> {
  const value = `message ${(sent += 1)}`;
  return producer.value.send(topic, { key: `${partition}`, value, partition }).then(() => value);
}

/** Sends to every partition while `work` runs, and then until each partition accepts a message. */
async function sendDuring(work: () => Promise<void>): Promise<string[]> {
  const acknowledged: string[] = [];
  const over = new AbortController();
  const senders = Array.from({ length: PARTITIONS }, async (_, partition) => {
    const once = async (): Promise<boolean> => {
      try {
        acknowledged.push(await send(partition));
        return true;
      } catch (error) {
        if (!(error instanceof ProduceError)) throw error;
        return false;
      }
    };
    while (!over.signal.aborted) {
      await once();
      await delay(SEND_INTERVAL_MS);
    }
    await eventually(once, { timeoutMs: RECOVERY_MS });
  });
  await work().finally(() => over.abort());
  await Promise.all(senders);
  return acknowledged;
}

async function expectAllHandled(acknowledged: readonly string[]): Promise<void> {
  expect(acknowledged.length).toBeGreaterThan(0);
  await eventually(
    () => {
      expect(acknowledged.filter((value) => !handled.has(value))).toEqual([]);
      expect(acknowledged.filter((value) => !read.has(value))).toEqual([]);
    },
    { timeoutMs: RECOVERY_MS },
  );
  await expectAllCommitted();
  for (const { value } of members) expect(value.check()).toBeNull();
}

/** Expects that a new group, without offsets, reads every acknowledged message. */
async function expectAllHandledByNewcomer(acknowledged: readonly string[]): Promise<void> {
  const seen = new Set<string>();
  const newcomer = await startConsumer(kafka, {
    topics: [TOPIC, UNREPLICATED],
    groupId: "newcomer",
    logger,
    fatal: (error) => void fatal.push(error),
    onBatch: ({ messages }) => {
      for (const { value } of messages) seen.add(value.toString());
      return Promise.resolve({});
    },
  });
  await eventually(() => expect(acknowledged.filter((value) => !seen.has(value))).toEqual([]), {
    timeoutMs: RECOVERY_MS,
  });
  await newcomer.stop();
}

/**
 * Expects that the group's coordinator knows all members, and that the group has committed the end
 * offset of each partition of {@link TOPIC}.
 */
async function expectAllCommitted(): Promise<void> {
  await eventually(
    async () => {
      const [group] = (await admin.describeGroups([GROUP])).groups;
      expect({ state: group?.state, members: group?.members.length }).toEqual({ state: "Stable", members: MEMBERS });
      const [committed] = await admin.fetchOffsets({ groupId: GROUP, topics: [TOPIC.name] });
      const ends = await admin.fetchTopicOffsets(TOPIC.name);
      const byPartition = (all: readonly { partition: number; offset: string }[]): object =>
        Object.fromEntries(all.map(({ partition, offset }) => [partition, offset]));
      expect(byPartition(committed?.partitions ?? [])).toEqual(byPartition(ends));
    },
    { timeoutMs: RECOVERY_MS, intervalMs: 200 },
  );
}

async function leaders(topic: string): Promise<Map<number, number>> {
  const { topics } = await admin.fetchTopicMetadata({ topics: [topic] });
  return new Map((topics[0]?.partitions ?? []).map(({ partitionId, leader }) => [partitionId, leader]));
}

async function coordinator(): Promise<KafkaCluster["nodes"][number]> {
  const partitions = await leaders("__consumer_offsets");
  let hash = 0;
  for (const char of GROUP) hash = (Math.imul(31, hash) + char.charCodeAt(0)) | 0;
  const id = partitions.get(Math.abs(hash) % partitions.size);
  return assertDefined(
    cluster.nodes.find((node) => node.id === id),
    "the coordinator of the group",
  );
}

it("a broker with frozen connections delays only the partitions that it leads", { timeout: 90_000 }, async () => {
  await Promise.all(Array.from({ length: PARTITIONS }, (_, partition) => send(partition)));
  const led = await leaders(TOPIC.name);
  const frozen = assertDefined(cluster.nodes[0], "a broker");
  const isFrozen = (partition: number): boolean => led.get(partition) === frozen.id;
  await frozen.proxy.blackhole();
  const partitions = [...led.keys()];
  const stuck = partitions.filter(isFrozen).map((partition) => send(partition).catch((error: unknown) => error));
  const others = partitions.filter((partition) => !isFrozen(partition));
  expect(others.length).toBeGreaterThan(0);
  expect(stuck.length).toBeGreaterThan(0);
  let isStuck = true;
  void Promise.all(stuck).then(() => {
    isStuck = false;
  });
  const passed = await Promise.all(others.flatMap((partition) => Array.from({ length: 5 }, () => send(partition))));
  expect({ passed: passed.length, isStuck }).toEqual({ passed: others.length * 5, isStuck: true });
  expect((await Promise.all(stuck)).every((outcome) => outcome instanceof ProduceError)).toBe(true);
  await frozen.proxy.pass();
  // The client closes connections that stay frozen, and opens new ones.
  await expectAllHandled([...passed, ...(await sendDuring(() => Promise.resolve()))]);
});

it(
  "the group and its replicated partitions move to other brokers if the coordinator stops, even if one partition then has no leader",
  { timeout: 120_000 },
  async () => {
    const gone = await coordinator();
    const leaderless = cluster.nodes.indexOf(gone);
    await Promise.all(cluster.nodes.map((_, partition) => send(partition, UNREPLICATED)));
    const over = new AbortController();
    // A send to the leaderless partition is pending all the time.
    const waiting = (async () => {
      while (!over.signal.aborted) await send(leaderless, UNREPLICATED).catch(() => delay(SEND_INTERVAL_MS));
    })();
    const acknowledged = await sendDuring(async () => {
      await gone.kill();
      await eventually(async () => expect((await coordinator()).id).not.toBe(gone.id), { timeoutMs: RECOVERY_MS });
    });
    const others = cluster.nodes.map((_, partition) => partition).filter((partition) => partition !== leaderless);
    acknowledged.push(...(await Promise.all(others.map((partition) => send(partition, UNREPLICATED)))));
    await expectAllHandled(acknowledged);
    await expectAllHandledByNewcomer(acknowledged);
    expect((await leaders(UNREPLICATED.name)).get(leaderless)).toBe(-1);
    await gone.start();
    await cluster.settled();
    over.abort();
    await waiting;
    const sendAgain = async (): Promise<string> => send(leaderless, UNREPLICATED);
    let last = "";
    await eventually(async () => expect((last = await sendAgain())).not.toBe(""), { timeoutMs: RECOVERY_MS });
    await expectAllHandled([last]);
  },
);

it("all members continue after their coordinator hung and another broker took over", { timeout: 120_000 }, async () => {
  const hung = await coordinator();
  const acknowledged = await sendDuring(async () => {
    await hung.pause();
    await eventually(async () => expect((await coordinator()).id).not.toBe(hung.id), { timeoutMs: RECOVERY_MS });
  });
  await expectAllHandled(acknowledged);
  hung.resume();
  await expectAllHandled(await sendDuring(() => cluster.settled()));
});

it("producers, consumers and readers continue after all brokers restart", { timeout: 120_000 }, async () => {
  const acknowledged = await sendDuring(async () => {
    await Promise.all(cluster.nodes.map((node) => node.kill()));
    await Promise.all(cluster.nodes.map((node) => node.start()));
    await cluster.settled();
  });
  await expectAllHandled(acknowledged);
});
