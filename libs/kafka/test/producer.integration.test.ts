import { TOPICS } from "@kapi/contracts";
import { deferred, delay } from "@kapi/kernel";
import type { Started } from "@kapi/runtime";
import { afterAll, beforeAll, expect, test, vi } from "vitest";

import {
  startLogReader,
  startProducer,
  endOffsets,
  type KafkaConnection,
  type Message,
  partitionOfKey,
  type Producer,
  ProduceError,
} from "../src/index.ts";
import { withMethods, logger, ownTopics, PARTITIONS, unexpected, watchProduce, withCluster } from "./support.ts";

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

async function read(topic: (typeof TOPICS)[keyof typeof TOPICS]): Promise<Map<string, Message>> {
  const found = new Map<string, Message>();
  const reader = await startLogReader(kafka, {
    topic,
    from: "beginning",
    logger,
    fatal: unexpected,
    onBatch: (partition, messages) => {
      for (const message of messages) found.set(`${partition}/${message.offset}`, message);
    },
  });
  await reader.value.caughtUp;
  await reader.stop();
  return found;
}

test("every message is found at the position in its acknowledgement, with its key, value and headers", async () => {
  const texts = Array.from({ length: 3_000 }, (_, index) => `message ${index}`);
  const positions = await Promise.all(
    texts.map((text, index) =>
      producer.value.send(TOPICS.tradingEvents, {
        key: `key ${index % 50}`,
        value: text,
        headers: { index: `${index}` },
      }),
    ),
  );
  const found = await read(TOPICS.tradingEvents);
  expect(found.size).toBe(texts.length);
  for (const [index, { partition, offset }] of positions.entries()) {
    const message = found.get(`${partition}/${offset}`);
    expect(message?.value.toString()).toBe(texts[index]);
    expect(message?.key).toBe(`key ${index % 50}`);
    expect(message?.headers).toEqual({ index: `${index}` });
    expect(partition).toBe(partitionOfKey(`key ${index % 50}`, PARTITIONS));
  }
});

test("messages of one key keep the order of the calls, also across requests", async () => {
  const small = await startProducer(kafka, { maxBatchMessages: 7 });
  const positions = await Promise.all(
    Array.from({ length: 100 }, (_, index) =>
      small.value.send(TOPICS.commandEvents, { key: "one", value: String(index) }),
    ),
  );
  await small.stop();
  expect(positions.map(({ offset }) => Number(offset))).toEqual(Array.from({ length: 100 }, (_, index) => index));
});

test("messages of one turn of the event loop share a request, and requests to a broker are never concurrent", async () => {
  const requests: number[] = [];
  const [begun, release] = [deferred<void>(), deferred<void>()];
  let underWay = 0;
  let most = 0;
  const watched = watchProduce(kafka, async (records, produce) => {
    requests.push(records);
    underWay += 1;
    most = Math.max(most, underWay);
    begun.resolve();
    await release.promise;
    return produce().finally(() => {
      underWay -= 1;
    });
  });
  const own = await startProducer(watched);
  const turn = (count: number): Promise<unknown>[] =>
    Array.from({ length: count }, (_, index) => own.value.send(TOPICS.commandsExport, { key: `${index}`, value: "x" }));
  const first = turn(40);
  await begun.promise;
  const meanwhile = [...turn(5), ...turn(6)];
  release.resolve();
  await Promise.all([...first, ...meanwhile]);
  await own.stop();
  expect(requests).toEqual([40, 11]);
  expect(most).toBe(1);
});

test("if the broker rejects the messages of one partition of a request, only these messages are sent again", async () => {
  let tries = 0;
  const watched = watchProduce(kafka, async (_records, produce) => {
    tries += 1;
    const answer = (await produce()) as { topics: { partitions: { partition: number; errorCode: number }[] }[] };
    if (tries > 1) return answer;
    for (const { partitions } of answer.topics) for (const it of partitions) if (it.partition === 1) it.errorCode = 6;
    throw Object.assign(new Error("not the leader"), {
      type: "NOT_LEADER_FOR_PARTITION",
      code: 6,
      retriable: true,
      ...answer,
    });
  });
  const own = await startProducer(watched);
  const before = await endOffsets(kafka, TOPICS.commandsAccount);
  await Promise.all(
    [0, 1].map((partition) => own.value.send(TOPICS.commandsAccount, { key: "k", value: "x", partition })),
  );
  await own.stop();
  const after = await endOffsets(kafka, TOPICS.commandsAccount);
  const stored = [0, 1].map((partition) => Number((after.get(partition) ?? 0n) - (before.get(partition) ?? 0n)));
  expect({ tries, stored }).toEqual({ tries: 2, stored: [1, 2] });
});

test("when a leader loses its role during a request, the outcome is `unknown` if the leader stored the message, otherwise `not-sent`", async () => {
  const outcomeOf = async (baseOffset: string): Promise<unknown> => {
    const watched = watchProduce(kafka, async () => {
      const partitions = [{ partition: 0, errorCode: 6, baseOffset }];
      throw Object.assign(new Error("not the leader"), {
        type: "NOT_LEADER_FOR_PARTITION",
        code: 6,
        retriable: true,
        topics: [{ topicName: kafka.topicName(TOPICS.commandsAccount), partitions }],
      });
    });
    const own = await startProducer(watched, { produceTimeoutMs: 500 });
    const sent = own.value.send(TOPICS.commandsAccount, { key: "k", value: "x", partition: 0 });
    const [outcome] = await Promise.allSettled([sent]);
    await own.stop();
    return outcome;
  };
  expect(await outcomeOf("5")).toMatchObject({ reason: { outcome: "unknown" } });
  expect(await outcomeOf("-1")).toMatchObject({ reason: { outcome: "not-sent" } });
});

test("a message can name its partition, and is rejected if the partition does not exist", async () => {
  const position = await producer.value.send(TOPICS.metricsSamples, { key: "a", value: "b", partition: 3 });
  expect(position.partition).toBe(3);
  await expect(
    producer.value.send(TOPICS.metricsSamples, { key: "a", value: "b", partition: PARTITIONS }),
  ).rejects.toMatchObject({ outcome: "not-sent" });
});

test("a message beyond the queue's limit is rejected at once and never published", async () => {
  const narrow = await startProducer(kafka, { maxQueuedMessages: 2 });
  const sends = ["a", "b", "c"].map((value) => narrow.value.send(TOPICS.financeEvents, { key: "k", value }));
  const settled = await Promise.allSettled(sends);
  expect(settled.map(({ status }) => status)).toEqual(["fulfilled", "fulfilled", "rejected"]);
  await narrow.stop();
  const ends = await endOffsets(kafka, TOPICS.financeEvents);
  expect([...ends.values()].reduce((sum, end) => sum + end, 0n)).toBe(2n);
});

test("in a topic without `maxMessageBytes`, a message above the size limit of a request is rejected, and the small message after it is published", async () => {
  const large = producer.value.send(TOPICS.creditsEvents, { key: "k", value: Buffer.alloc(1_000_000) });
  const small = producer.value.send(TOPICS.creditsEvents, { key: "k", value: "small" });
  await expect(large).rejects.toBeInstanceOf(ProduceError);
  await expect(small).resolves.toMatchObject({ offset: 0n });
});

test("`stop` publishes the messages that were sent earlier; a message that is sent later is rejected", async () => {
  const short = await startProducer(kafka);
  const sends = Array.from({ length: 2_500 }, (_, index) =>
    short.value.send(TOPICS.accountEvents, { key: String(index), value: "x" }),
  );
  await short.stop();
  await expect(Promise.all(sends)).resolves.toHaveLength(2_500);
  await expect(short.value.send(TOPICS.accountEvents, { key: "k", value: "x" })).rejects.toMatchObject({
    outcome: "not-sent",
  });
});

test("a message that still waits at its deadline is rejected, and is certainly not in the log", async () => {
  let nowMs = 0;
  const limits = { maxBatchMessages: 1, produceTimeoutMs: 5_000, clock: { nowMs: () => nowMs } };
  const late = await startProducer(kafka, limits);
  const sends = Array.from({ length: 5_000 }, () => late.value.send(TOPICS.deadLetter, { key: "k", value: "x" }));
  nowMs = 60_000;
  const settled = await Promise.allSettled(sends);
  await late.stop();
  const rejected = settled.filter((result) => result.status === "rejected");
  const reasons: unknown[] = rejected.map(({ reason }) => reason);
  const outcomes = reasons.map((reason) => (reason instanceof ProduceError ? reason.outcome : reason));
  const notSent = outcomes.filter((outcome) => outcome === "not-sent").length;
  expect(notSent).toBeGreaterThan(0);
  const ends = await endOffsets(kafka, TOPICS.deadLetter);
  expect([...ends.values()].reduce((sum, end) => sum + end, 0n)).toBe(BigInt(sends.length - notSent));
});

test("a jump of the system clock does not make a message pass its deadline", async () => {
  const answer = deferred<void>();
  const slow = await startProducer(watchProduce(kafka, (_records, produce) => answer.promise.then(produce)));
  const sent = slow.value.send(TOPICS.creditsEvents, { key: "k", value: "x" });
  const outcome = sent.then(() => "stored").catch(({ message }: Error) => message);
  const setForward = Date.now() + 10 * 60_000;
  const machine = vi.spyOn(Date, "now").mockImplementation(() => setForward);
  // Deadlines are checked every 100 ms.
  await delay(300);
  machine.mockRestore();
  answer.resolve();
  expect(await outcome).toBe("stored");
  await slow.stop();
});

test("a topic with `maxMessageBytes` takes a message above the size limit of a request, and later messages are stored too", async () => {
  const large = "x".repeat(TOPICS.commandEvents.maxMessageBytes - 1_000);
  const send = (key: string, value: string) => producer.value.send(TOPICS.commandEvents, { key, value });
  await Promise.all([send("before", "small"), send("large", large), send("after", "small")]);
  const keys = ["after", "before", "large"];
  const found = [...(await read(TOPICS.commandEvents)).values()].filter(({ key }) => keys.includes(key));
  expect(found.map(({ key }) => key).toSorted()).toEqual(keys);
  expect(found.find(({ key }) => key === "large")?.value.length).toBe(large.length);
  await expect(send("larger", `${large}${large}`)).rejects.toMatchObject({ outcome: "not-sent" });
});

test("a message whose partition has no leader delays no message of other partitions, and is sent when the partition has a leader", async () => {
  const topic = TOPICS.organizationDirectory;
  const [led, leaderless] = [0, 1];
  let isLeaderless = true;
  const connection = withCluster(kafka, (cluster) =>
    withMethods(cluster, {
      findTopicPartitionMetadata: (name: string) =>
        cluster
          .findTopicPartitionMetadata(name)
          .map((found) =>
            isLeaderless && found.partitionId === leaderless ? Object.assign({}, found, { leader: -1 }) : found,
          ),
    }),
  );
  const own = await startProducer(connection);
  const order: string[] = [];
  const send = async (partition: number, value: string): Promise<void> => {
    await own.value.send(topic, { key: "k", value, partition });
    order.push(value);
  };
  const waiting = [send(leaderless, "first"), send(leaderless, "second")];
  await send(led, "beside");
  await send(led, "after");
  expect(order).toEqual(["beside", "after"]);
  isLeaderless = false;
  await Promise.all(waiting);
  expect(order).toEqual(["beside", "after", "first", "second"]);
  await own.stop();
  const texts = [...(await read(topic)).entries()].filter(([position]) => position.startsWith(`${leaderless}/`));
  expect(texts.map(([, { value }]) => value.toString())).toEqual(["first", "second"]);
});
