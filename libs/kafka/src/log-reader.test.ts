/** The errors of callers that wait for a reader, when the reader stops or its handler fails. */
import { TOPICS } from "@kapi/contracts";
import { delay } from "@kapi/kernel";
import { createLogger } from "@kapi/runtime";
import { expect, it } from "vitest";

import { fakeConnection } from "../test/fake-connection.ts";
import { startLogReader } from "./log-reader.ts";

const END = 5;
const logger = createLogger({ service: "test", level: "silent" });

/** Starts a reader of a partition with the end {@link END}. A fetch returns what `find` returns. */
async function start(find: () => Promise<readonly object[]>) {
  const failures: Error[] = [];
  const broker = { isUnreachable: false, reads: 0 };
  const kafka = fakeConnection({
    connect: () => Promise.resolve(),
    addMultipleTargetTopics: () => Promise.resolve(),
    refreshMetadata: () => Promise.resolve(),
    refreshMetadataIfNecessary: () => Promise.resolve(),
    findTopicPartitionMetadata: () => [{ partitionId: 0 }],
    findLeaderForPartitions: (_topic: string, partitions: readonly number[]) => ({ 1: partitions }),
    fetchTopicsOffset: ([{ partitions, fromBeginning }]: [
      { partitions: { partition: number }[]; fromBeginning: boolean },
    ]) => {
      broker.reads += 1;
      if (broker.isUnreachable) return Promise.reject(Object.assign(new Error("no broker"), { retriable: true }));
      const offset = fromBeginning ? "0" : String(END);
      return Promise.resolve([{ partitions: partitions.map(({ partition }) => ({ partition, offset })) }]);
    },
    findBroker: () =>
      Promise.resolve({
        fetch: async () => {
          const messages = await find();
          return { responses: [{ partitions: [{ partition: 0, highWatermark: String(END), messages }] }] };
        },
      }),
  });
  const reader = await startLogReader(kafka, {
    topic: TOPICS.accountEvents,
    from: "beginning",
    onBatch: () => Promise.reject(new Error("broken state")),
    logger,
    fatal: (error) => void failures.push(error),
  });
  return { reader, failures, broker };
}

const never = (): Promise<never> => new Promise(() => undefined);
const record = {
  key: Buffer.from("k"),
  value: Buffer.from("v"),
  headers: {},
  offset: "0",
  bigOffset: 0n,
  timestampMs: 0,
};

it("a reader rejects `caughtUp`, `add` and `waitFor` at its stop", async () => {
  const { reader } = await start(never);
  const waiting = [reader.value.add(new Map([[1, "beginning"]])), reader.value.waitFor(new Map([[0, 5n]]), 60_000)];
  const ended = Promise.allSettled([...waiting, reader.value.caughtUp]);
  await delay(0);
  await reader.stop();
  const reasons = (await ended).map((one) => (one.status === "rejected" ? String(one.reason) : "resolved"));
  expect(reasons).toEqual(["add", "waitFor", "caughtUp"].map(() => "Error: the reader of account.events has stopped"));
});

it("a reader whose handler fails rejects `caughtUp` and `waitFor` with the error of the handler", async () => {
  const { reader, failures } = await start(() => Promise.resolve([record]));
  await expect(reader.value.caughtUp).rejects.toThrow("broken state");
  expect(failures.map(({ message }) => message)).toEqual(["broken state"]);
  await expect(reader.value.waitFor(new Map([[0, 5n]]), 60_000)).rejects.toThrow("broken state");
  await reader.stop();
});

it("after its stop, a reader no longer tries to add partitions, and leaves no rejection unhandled", async () => {
  const { reader, broker } = await start(never);
  broker.isUnreachable = true;
  const added = reader.value.add(new Map([[1, "beginning"]]));
  await Promise.all([expect(added).rejects.toThrow(), delay(20).then(() => reader.stop())]);
  const { reads } = broker;
  await delay(200);
  expect(broker.reads).toBe(reads);
});
