import { DEAD_LETTER_HEADERS, TOPICS, type TopicContract } from "@kapi/contracts";
import { delay } from "@kapi/kernel";
import kafkajs, { type ProducerRecord } from "kafkajs";
import { afterAll, beforeAll, expect, test } from "vitest";

import { startConsumer, startLogReader, type KafkaConnection, type Message } from "../src/index.ts";
import { changeFetched, ownTopics, unexpected, until, logger } from "./support.ts";

const { CompressionCodecs, CompressionTypes } = kafkajs;
type CompressionType = NonNullable<ProducerRecord["compression"]>;
/**
 * Two topics with `compression.type=producer`: the broker stores their batches as the producer
 * compressed them. In the other topics the broker stores all batches uncompressed.
 */
const AS_PRODUCED = TOPICS.financeEvents;
const ZSTD_KEPT = TOPICS.commandsFinance;
/**
 * A topic with short segments: a batch begins a new segment if it comes more than SEGMENT_MS after
 * the first batch of the current segment.
 */
const SHORT_SEGMENTS = TOPICS.apiRequests;
const SEGMENT_MS = 10;
const MAX_LITERAL_BYTES = 60;
/**
 * The format of a record batch. It begins with its first offset, which has `offsetBytes` bytes.
 * A name that ends in `At` is the position of a field, in bytes from the beginning of the batch.
 * `magic` is the value of the byte at `magicAt`.
 */
const BATCH = { offsetBytes: 8, magicAt: 16, magic: 2, lastOffsetDeltaAt: 23, timestampAt: 27 };

let kafka: KafkaConnection;
let drop: () => Promise<void>;

beforeAll(async () => {
  const configs = { "compression.type": "producer" };
  ({ kafka, drop } = await ownTopics({
    [AS_PRODUCED.name]: { configs },
    [ZSTD_KEPT.name]: { configs },
    [SHORT_SEGMENTS.name]: { configs: { "segment.ms": String(SEGMENT_MS) } },
  }));
  // Brokers support Snappy, but our readers do not.
  CompressionCodecs[CompressionTypes.Snappy] = () => ({
    compress: ({ buffer }: { buffer: Buffer }) => Promise.resolve(snappy(buffer)),
    decompress: () => Promise.reject(new Error("Snappy compression not implemented")),
  });
});
afterAll(() => drop());

/** The stream format of snappy-java with one block, all of it literals. */
function snappy(bytes: Buffer): Buffer {
  const length = Buffer.from([(bytes.length & 0x7f) | 0x80, bytes.length >> 7]);
  const literals: Buffer[] = [length];
  for (let at = 0; at < bytes.length; at += MAX_LITERAL_BYTES) {
    const literal = bytes.subarray(at, at + MAX_LITERAL_BYTES);
    literals.push(Buffer.from([(literal.length - 1) << 2]), literal);
  }
  const block = Buffer.concat(literals);
  const header = Buffer.alloc(20);
  header.write("\x82SNAPPY\0", "latin1");
  header.writeInt32BE(1, 8);
  header.writeInt32BE(1, 12);
  header.writeInt32BE(block.length, 16);
  return Buffer.concat([header, block]);
}

/**
 * Sends three produce requests: "before", then x, y and z with `compression`, then "after". Before
 * each one it waits for longer than `pauseMs`.
 */
async function publish(topic: TopicContract, compression: CompressionType, pauseMs = 0): Promise<void> {
  const producer = kafka.client().producer({ allowAutoTopicCreation: false });
  await producer.connect();
  const send = async (values: string[], codec: CompressionType): Promise<void> => {
    await delay(2 * pauseMs);
    await producer.send({
      topic: kafka.topicName(topic),
      compression: codec,
      messages: values.map((value) => ({ key: value, value, partition: 0 })),
    });
  };
  await send(["before"], CompressionTypes.None);
  await send(["x", "y", "z"], compression);
  await send(["after"], CompressionTypes.None);
  await producer.disconnect();
}

async function readAll(topic: TopicContract, by = kafka): Promise<Message[]> {
  const found: Message[] = [];
  const onBatch = (_partition: number, messages: readonly Message[]): void => void found.push(...messages);
  const reader = await startLogReader(by, { topic, from: "beginning", logger, fatal: unexpected, onBatch });
  await reader.value.caughtUp;
  await reader.stop();
  return found;
}

async function readByGroup(topic: TopicContract, groupId: string, by = kafka): Promise<string[]> {
  const found: string[] = [];
  const consumer = await startConsumer(by, {
    topics: [topic],
    groupId,
    logger,
    fatal: unexpected,
    onBatch: ({ messages }) => Promise.resolve(void found.push(...messages.map(({ key }) => key))).then(() => ({})),
  });
  await until("the last message is handled", () => found.includes("after"));
  await consumer.stop();
  return found;
}

test("a batch that kapi cannot read is skipped, and a consumer writes a dead letter with its offsets", async () => {
  await publish(AS_PRODUCED, CompressionTypes.Snappy);
  expect(await readByGroup(AS_PRODUCED, "poison")).toEqual(["before", "after"]);
  expect((await readAll(AS_PRODUCED)).map(({ key }) => key)).toEqual(["before", "after"]);
  const letters = await readAll(TOPICS.deadLetter);
  expect(letters).toHaveLength(1);
  expect(letters[0]?.value).toHaveLength(0);
  expect(letters[0]?.headers).toEqual({
    [DEAD_LETTER_HEADERS.reason]: "offsets 1 to 3 cannot be read: Snappy compression not implemented",
    [DEAD_LETTER_HEADERS.topic]: AS_PRODUCED.name,
    [DEAD_LETTER_HEADERS.partition]: "0",
    [DEAD_LETTER_HEADERS.offset]: "3",
    [DEAD_LETTER_HEADERS.group]: "poison",
  });
});

test("the broker stores compressed batches of other producers uncompressed, so that readers can read them", async () => {
  const topic = TOPICS.accountEvents;
  await publish(topic, CompressionTypes.Snappy);
  expect((await readAll(topic)).map(({ key }) => key)).toEqual(["before", "x", "y", "z", "after"]);
});

test("a batch compressed with ZSTD is read", async () => {
  const topic = ZSTD_KEPT;
  await publish(topic, CompressionTypes.ZSTD);
  expect((await readAll(topic)).map(({ value }) => value.toString())).toEqual(["before", "x", "y", "z", "after"]);
});

/**
 * Counts the fetches of the batch that begins at `offset`, and changes a field of its header in the
 * first `times` fetches.
 */
function damageBatchAt(
  offset: bigint,
  times: number,
  fieldAt = BATCH.lastOffsetDeltaAt,
): { damage: (response: Buffer) => Buffer; fetches: () => number } {
  let fetches = 0;
  const begin = Buffer.alloc(BATCH.offsetBytes);
  begin.writeBigInt64BE(offset);
  const damage = (response: Buffer): Buffer => {
    for (let at = response.indexOf(begin); at >= 0; at = response.indexOf(begin, at + 1)) {
      if (response[at + BATCH.magicAt] !== BATCH.magic) continue;
      fetches += 1;
      if (fetches <= times) response.writeInt32BE(1_000, at + fieldAt);
    }
    return response;
  };
  return { damage, fetches: () => fetches };
}

test("a batch that was damaged on its way is fetched again, and no record is skipped", async () => {
  const topic = TOPICS.commandsAccount;
  await publish(topic, CompressionTypes.None);
  const { damage, fetches } = damageBatchAt(1n, 2);
  expect((await readAll(topic, changeFetched(kafka, damage))).map(({ key }) => key)).toEqual([
    "before",
    "x",
    "y",
    "z",
    "after",
  ]);
  expect(fetches()).toBe(3);
});

test("a batch that stays damaged is skipped up to the next batch, even if its damaged header has wrong offsets", async () => {
  const topic = TOPICS.commandsExport;
  await publish(topic, CompressionTypes.None);
  const { damage } = damageBatchAt(1n, Infinity);
  const damaged = changeFetched(kafka, damage);
  expect((await readAll(topic, damaged)).map(({ key }) => key)).toEqual(["before", "after"]);
  expect(await readByGroup(topic, "damaged", damaged)).toEqual(["before", "after"]);
  const letter = (await readAll(TOPICS.deadLetter)).find(
    ({ headers }) => headers[DEAD_LETTER_HEADERS.group] === "damaged",
  );
  expect(letter?.headers[DEAD_LETTER_HEADERS.reason]).toBe(
    "offsets 1 to 3 cannot be read: the checksum of their batch is wrong",
  );
});

test("a batch that is damaged in one fetch only is not skipped, even if another batch of the same fetch stays damaged", async () => {
  const topic = TOPICS.creditsEvents;
  const producer = kafka.client().producer({ allowAutoTopicCreation: false });
  await producer.connect();
  for (const [partition, values] of [
    ["damaged", "after"],
    ["whole", "last"],
  ].entries()) {
    for (const value of values) {
      await producer.send({ topic: kafka.topicName(topic), messages: [{ key: value, value, partition }] });
    }
  }
  await producer.disconnect();
  let fetches = 0;
  const spoil = (response: Buffer, text: string): void => {
    const at = response.indexOf(text);
    if (at >= 0) response.fill("?", at, at + text.length);
  };
  const damage = (response: Buffer): Buffer => {
    if (!response.includes("damaged")) return response;
    fetches += 1;
    // The batch "damaged" is fetched three times and then skipped.
    if (fetches === 3) spoil(response, "whole");
    spoil(response, "damaged");
    return response;
  };
  const found = await readAll(topic, changeFetched(kafka, damage));
  expect(fetches).toBeGreaterThanOrEqual(3);
  expect(found.map(({ key }) => key).sort()).toEqual(["after", "last", "whole"]);
});

test("a batch that stays damaged is skipped up to the next segment, if it is the last batch of its segment", async () => {
  const topic = SHORT_SEGMENTS;
  await publish(topic, CompressionTypes.None, SEGMENT_MS);
  const { damage } = damageBatchAt(1n, Infinity, BATCH.timestampAt);
  expect((await readAll(topic, changeFetched(kafka, damage))).map(({ key }) => key)).toEqual(["before", "after"]);
});

test("a damaged batch at the end of a partition is skipped up to the end of the log", async () => {
  const topic = TOPICS.organizationDirectory;
  await publish(topic, CompressionTypes.None);
  const { damage } = damageBatchAt(4n, Infinity);
  const found: string[] = [];
  const reader = await startLogReader(changeFetched(kafka, damage), {
    topic,
    from: "beginning",
    logger,
    fatal: unexpected,
    onBatch: (_partition, messages) => void found.push(...messages.map(({ key }) => key)),
  });
  await reader.value.caughtUp;
  expect({ found, position: reader.value.position(0) }).toEqual({ found: ["before", "x", "y", "z"], position: 5n });
  await reader.stop();
});
