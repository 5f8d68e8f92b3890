import { TOPICS } from "@kapi/contracts";
import { afterAll, beforeAll, expect, test } from "vitest";

import {
  startConsumer,
  startLogReader,
  startProducer,
  type KafkaConnection,
  type Message,
  type OutgoingMessage,
} from "../src/index.ts";
import { logger, ownTopics, unexpected, until } from "./support.ts";

/** Lengths around those at which the varint of a length needs one more byte. */
const LENGTHS = [0, 1, 62, 63, 64, 65, 127, 128, 8_191, 8_192, 8_193, 16_384, 70_000];
const HEADERS: readonly Readonly<Record<string, string>>[] = [
  {},
  { from: "-1" },
  { sequence: "1", from: "9007199254740991", to: "" },
  { größe: "ü€𝄞", toString: "a name that every object has" },
  Object.fromEntries(Array.from({ length: 70 }, (_, index) => [`name ${index}`, "x".repeat(index)])),
];

let kafka: KafkaConnection;
let drop: () => Promise<void>;

beforeAll(async () => {
  ({ kafka, drop } = await ownTopics());
});
afterAll(() => drop());

const outgoing: OutgoingMessage[] = LENGTHS.flatMap((length, at) =>
  HEADERS.map((headers, index) => ({
    key: `${at}/${index}/${"k€".repeat(length % 300)}`,
    value: index % 2 === 0 ? "v".repeat(length) : Buffer.alloc(length, index),
    headers,
  })),
);

function shown({ key, value, headers }: Pick<Message, "key" | "headers"> & { value: string | Buffer | null }): object {
  return { key, value: Buffer.from(value ?? "").toString("base64"), headers };
}

function byKey(messages: readonly Message[]): object[] {
  const found = new Map(messages.map((message) => [message.key, message]));
  return outgoing.map(({ key }) => shown(found.get(key) ?? { key, value: "was not read", headers: {} }));
}

test("a log reader and a consumer group read records of all lengths, and their headers, as they were written", async () => {
  const beganMs = Date.now();
  const producer = await startProducer(kafka);
  const positions = await Promise.all(outgoing.map((message) => producer.value.send(TOPICS.metricsSamples, message)));
  await producer.stop();
  const expected = outgoing.map((message) => shown({ headers: {}, ...message }));

  const read: Message[] = [];
  const onBatch = (_partition: number, messages: readonly Message[]): void => void read.push(...messages);
  const topic = TOPICS.metricsSamples;
  const reader = await startLogReader(kafka, { topic, from: "beginning", logger, fatal: unexpected, onBatch });
  await reader.value.caughtUp;
  await reader.stop();
  expect(byKey(read)).toEqual(expected);
  const offsets = new Map(read.map(({ key, offset }) => [key, offset]));
  expect(outgoing.map(({ key }) => offsets.get(key))).toEqual(positions.map(({ offset }) => offset));
  for (const { timestampMs } of read) {
    expect(timestampMs).toBeGreaterThanOrEqual(beganMs);
    expect(timestampMs).toBeLessThanOrEqual(Date.now());
  }

  const consumed: Message[] = [];
  const consumer = await startConsumer(kafka, {
    groupId: "records",
    topics: [topic],
    logger,
    fatal: unexpected,
    onBatch: ({ messages }) => {
      consumed.push(...messages);
      return Promise.resolve({});
    },
  });
  await until("the group has read all", () => consumed.length >= outgoing.length);
  await consumer.stop();
  expect(byKey(consumed)).toEqual(expected);
});
