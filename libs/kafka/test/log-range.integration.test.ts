import { TOPICS } from "@kapi/contracts";
import { delay } from "@kapi/kernel";
import type { Started } from "@kapi/runtime";
import { afterAll, beforeAll, expect, test } from "vitest";

import { type KafkaConnection, type LogRange, type Producer, readLogRange, startProducer } from "../src/index.ts";
import { deleteRecords, ownTopics } from "./support.ts";

const TOPIC = TOPICS.tradingValuations;
const RECORDS = 3_000;

let kafka: KafkaConnection;
let drop: () => Promise<void>;
let producer: Started<Producer>;
let partition: number;

/**
 * The values of the records are "before", 0 … {@link RECORDS} - 1, "after". `first` is a time
 * between "before" and 0, `second` a time between the last number and "after".
 */
let times: { readonly first: number; readonly second: number };
let offsets: readonly bigint[];

beforeAll(async () => {
  ({ kafka, drop } = await ownTopics());
  producer = await startProducer(kafka);
  const send = (value: string) => producer.value.send(TOPIC, { key: "server/1001", value });
  ({ partition } = await send("before"));
  const first = await nextMillisecond();
  const sent = await Promise.all(Array.from({ length: RECORDS }, (_, index) => send(String(index))));
  offsets = sent.map(({ offset }) => offset);
  const second = await nextMillisecond();
  await send("after");
  times = { first, second };
});
afterAll(async () => {
  await producer.stop();
  await drop();
});

/** A time that is later than that of all records so far. */
async function nextMillisecond(): Promise<number> {
  const now = Date.now();
  while (Date.now() <= now) await delay(1);
  return Date.now();
}

async function read(range: Partial<LogRange>): Promise<{ values: string[]; isCut: boolean }> {
  const values: string[] = [];
  const { isCut } = await readLogRange(
    kafka,
    { topic: TOPIC, partition, fromMs: times.first, toMs: times.second, ...range },
    { timeoutMs: 10_000, onMessages: (messages) => values.push(...messages.map(({ value }) => value.toString())) },
  );
  return { values, isCut };
}

const ALL = Array.from({ length: RECORDS }, (_, index) => String(index));

test("a range of time has exactly the records that were created in this time, in order", async () => {
  expect(await read({})).toEqual({ values: ALL, isCut: false });
  expect((await read({ fromMs: times.second, toMs: times.second + 60_000 })).values).toEqual(["after"]);
  expect((await read({ fromMs: Date.now() + 60_000, toMs: Date.now() + 120_000 })).values).toEqual([]);
});

test("a range is extended to include a given offset, whatever the time of its record", async () => {
  const before = { fromMs: times.first, toMs: times.first };
  expect((await read({ ...before, including: [offsets[2] ?? 0n] })).values).toEqual(["0", "1", "2"]);
  const after = { fromMs: times.second, toMs: times.second + 60_000 };
  expect((await read({ ...after, including: [offsets[RECORDS - 1] ?? 0n] })).values).toEqual([ALL.at(-1), "after"]);
});

test("a read reports that the first records of its range were deleted", async () => {
  await deleteRecords(kafka, TOPIC, partition, offsets[10] ?? 0n);
  expect(await read({})).toEqual({ values: ALL.slice(10), isCut: true });
  expect(await read({ fromMs: times.second, toMs: times.second + 60_000 })).toEqual({
    values: ["after"],
    isCut: false,
  });
});

test("a read of a topic that does not exist rejects", async () => {
  await expect(read({ topic: { ...TOPIC, name: "no.such.topic" } })).rejects.toThrow();
});
