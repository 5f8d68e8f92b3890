import type { TopicContract } from "@kapi/contracts";
import { assertDefined } from "@kapi/kernel";
import type { Cluster } from "kafkajs";

import { clusterClient } from "./cluster.ts";
import type { KafkaConnection } from "./connection.ts";
import type { FetchedPartition } from "./fetched.ts";
import { fromWire, isReadable, type Message } from "./message.ts";
import { fetchBytesOf } from "./topics.ts";

/** Retries of kafkajs before a read fails; their pauses take about 0.7 s together. */
const RETRIES = 5;
/**
 * Maximum time that the broker holds an empty fetch. Such a fetch is rare: the range never extends
 * beyond the end of the log.
 */
const MAX_WAIT_MS = 100;
const MAX_BYTES = 10 * 1024 * 1024;
const READ_UNCOMMITTED = 0;

/** A part of one partition. */
export interface LogRange {
  readonly topic: TopicContract;
  readonly partition: number;
  /** The range begins with the first record that was created at this time or later. */
  readonly fromMs: number;
  /** The range ends before the first record that was created at this time or later. */
  readonly toMs: number;
  /** The range is extended to include these offsets, whatever the times of their records. */
  readonly including?: readonly bigint[];
}

/** Where the records of a range go, and how long reading may take. */
export interface LogRangeOptions {
  /** Gets the records of the range, in order. */
  readonly onMessages: (messages: readonly Message[]) => void;
  readonly timeoutMs: number;
}

/**
 * Reads a part of one partition once, and disconnects: for reads that are rare. Unreadable records
 * are skipped.
 * @returns whether the range begins at the beginning of a log from which records were deleted: then
 * earlier records of the range may be missing.
 * @throws if the topic does not exist or the cluster does not answer, or after `timeoutMs`.
 * `onMessages` may have got some of the records before.
 */
export async function readLogRange(
  kafka: KafkaConnection,
  range: LogRange,
  { onMessages, timeoutMs }: LogRangeOptions,
): Promise<{ readonly isCut: boolean }> {
  const { client, cluster } = clusterClient(kafka, { retries: RETRIES });
  const over = AbortSignal.timeout(timeoutMs);
  const name = kafka.topicName(range.topic);
  await kafka.connect(client);
  try {
    await cluster.addMultipleTargetTopics([name]);
    const { begin, from, to } = await locate(cluster, name, range);
    for (let next = from; next < to;) {
      over.throwIfAborted();
      const { messages, highWatermark } = await fetchFrom(cluster, name, range, next);
      const last = messages.at(-1);
      // The log now ends before `to`: no record is left to read.
      if (last === undefined && BigInt(highWatermark) <= next) break;
      const wanted = messages.filter(
        (record) =>
          record.isControlRecord !== true && isReadable(record) && record.bigOffset >= next && record.bigOffset < to,
      );
      if (wanted.length > 0) onMessages(wanted.map(fromWire));
      if (last !== undefined) next = BigInt(last.offset) + 1n;
    }
    return { isCut: begin > 0n && from === begin };
  } finally {
    await client.disconnect();
  }
}

async function locate(
  cluster: Cluster,
  name: string,
  { partition, fromMs, toMs, including = [] }: LogRange,
): Promise<{ readonly begin: bigint; readonly from: bigint; readonly to: bigint }> {
  const offsetOf = async (wanted: { fromBeginning: boolean } | { fromTimestamp: number }): Promise<bigint> => {
    const [found] = await cluster.fetchTopicsOffset([{ topic: name, partitions: [{ partition }], ...wanted }]);
    return BigInt(assertDefined(found?.partitions[0], `the offset of partition ${partition} of ${name}`).offset);
  };
  const begin = await offsetOf({ fromBeginning: true });
  const end = await offsetOf({ fromBeginning: false });
  /** The offset of the first record created at this time or later; the end if there is none. */
  const offsetAt = async (fromTimestamp: number): Promise<bigint> => {
    const offset = await offsetOf({ fromTimestamp });
    return offset < 0n ? end : offset;
  };
  let [from, to] = [await offsetAt(fromMs), await offsetAt(toMs)];
  for (const offset of including) {
    if (offset < from) from = offset;
    if (offset >= to) to = offset + 1n;
  }
  return { begin, from: from < begin ? begin : from, to: to > end ? end : to };
}

async function fetchFrom(
  cluster: Cluster,
  name: string,
  { topic, partition }: LogRange,
  offset: bigint,
): Promise<FetchedPartition> {
  const nodeId = Object.keys(cluster.findLeaderForPartitions(name, [partition]))[0];
  const broker = await cluster.findBroker({ nodeId: assertDefined(nodeId, "the leader of the partition") });
  const answer: { responses: { partitions: FetchedPartition[] }[] } = await broker.fetch({
    replicaId: -1,
    isolationLevel: READ_UNCOMMITTED,
    maxWaitTime: MAX_WAIT_MS,
    minBytes: 1,
    maxBytes: MAX_BYTES,
    topics: [
      { topic: name, partitions: [{ partition, fetchOffset: offset.toString(), maxBytes: fetchBytesOf(topic) }] },
    ],
  });
  return assertDefined(answer.responses[0]?.partitions[0], "the fetched partition");
}
