import { TOPICS } from "@kapi/contracts";
import { createLogger } from "@kapi/runtime";
import kafkajs from "kafkajs";
import { expect, it, vi } from "vitest";

import { createKafka } from "./connection.ts";
import { beginOffsets, endOffsets, offsetsForTime } from "./topics.ts";

const logger = createLogger({ service: "test", level: "silent" });

/** The error of a broker that does not lead the partition yet, or no longer. */
function notLeader(): Error {
  const type = "NOT_LEADER_FOR_PARTITION";
  const fields = { message: "This server is not the leader", retriable: true, type, code: 6 };
  return Reflect.construct(kafkajs.KafkaJSProtocolError, [fields]) as Error;
}

/** A connection whose admin client reads offsets with `read`. */
function kafkaReading(read: () => Promise<unknown>) {
  const kafka = createKafka({ brokers: ["none:1"], topicPrefix: "", clientId: "test", logger });
  const admin = { fetchTopicOffsets: read, fetchTopicOffsetsByTimestamp: read, disconnect: () => Promise.resolve() };
  return Object.assign(kafka, { client: () => ({ admin: () => admin }), connect: () => Promise.resolve() });
}

it("the offsets of a topic are read again while the leader of a partition changes", async () => {
  const found = [{ partition: 0, offset: "7", high: "7", low: "3" }];
  const read = vi.fn<() => Promise<unknown>>().mockResolvedValue(found);
  const kafka = kafkaReading(read);
  for (const [offsets, expected] of [
    [() => endOffsets(kafka, TOPICS.accountEvents), 7n],
    [() => beginOffsets(kafka, TOPICS.accountEvents), 3n],
    [() => offsetsForTime(kafka, TOPICS.accountEvents, 0), 7n],
  ] as const) {
    read.mockRejectedValueOnce(notLeader()).mockRejectedValueOnce(notLeader());
    expect(await offsets()).toEqual(new Map([[0, expected]]));
  }
});

it("an error that a retry cannot remove is thrown at once", async () => {
  const read = vi.fn<() => Promise<unknown>>().mockRejectedValue(new Error("not allowed"));
  await expect(endOffsets(kafkaReading(read), TOPICS.accountEvents)).rejects.toThrow("not allowed");
  expect(read).toHaveBeenCalledTimes(1);
});
