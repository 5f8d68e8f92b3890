import { DEAD_LETTER_HEADERS, TOPICS, type TopicContract } from "@kapi/contracts";
import kafkajs, { type ProducerRecord } from "kafkajs";
import { afterAll, beforeAll, expect, test } from "vitest";

import { createConsumer, createLogReader, type KafkaConnection, type Message } from "../src/index.ts";
import { ownTopics, unexpected, until, logger } from "./support.ts";

const { CompressionCodecs, CompressionTypes } = kafkajs;
type CompressionType = NonNullable<ProducerRecord["compression"]>;
/** Takes what producers give it, as topics of before `compression.type` was set do. */
const AS_PRODUCED = TOPICS.financeEvents;
const ZSTD_KEPT = TOPICS.commandsFinance;
const MAX_LITERAL_BYTES = 60;

let kafka: KafkaConnection;
let drop: () => Promise<void>;

beforeAll(async () => {
  const configs = { "compression.type": "producer" };
  ({ kafka, drop } = await ownTopics({ [AS_PRODUCED.name]: { configs }, [ZSTD_KEPT.name]: { configs } }));
  // A broker takes it, and no reader of ours has it.
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

/** One request each: "before", three values compressed with `compression`, "after". */
async function publish(topic: TopicContract, compression: CompressionType): Promise<void> {
  const producer = kafka.client().producer({ allowAutoTopicCreation: false });
  await producer.connect();
  const send = (values: string[], codec: CompressionType): Promise<unknown> =>
    producer.send({
      topic: kafka.topicName(topic),
      compression: codec,
      messages: values.map((value) => ({ key: value, value, partition: 0 })),
    });
  await send(["before"], CompressionTypes.None);
  await send(["x", "y", "z"], compression);
  await send(["after"], CompressionTypes.None);
  await producer.disconnect();
}

async function readAll(topic: TopicContract): Promise<Message[]> {
  const found: Message[] = [];
  const onBatch = (_partition: number, messages: readonly Message[]): void => void found.push(...messages);
  const reader = await createLogReader(kafka, { topic, from: "beginning", logger, fatal: unexpected, onBatch });
  await reader.value.caughtUp;
  await reader.stop();
  return found;
}

async function readByGroup(topic: TopicContract, groupId: string): Promise<string[]> {
  const found: string[] = [];
  const consumer = await createConsumer(kafka, {
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

test("a batch that nobody can read is passed over, and its offsets go into the dead letters", async () => {
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

test("what others compress, the broker stores so that it can be read", async () => {
  const topic = TOPICS.accountEvents;
  await publish(topic, CompressionTypes.Snappy);
  expect((await readAll(topic)).map(({ key }) => key)).toEqual(["before", "x", "y", "z", "after"]);
});

test("a batch compressed with ZSTD is read", async () => {
  const topic = ZSTD_KEPT;
  await publish(topic, CompressionTypes.ZSTD);
  expect((await readAll(topic)).map(({ value }) => value.toString())).toEqual(["before", "x", "y", "z", "after"]);
});
