/**
 * Checks before topics grow whether the consumers have handled the log, and whether checkpoints
 * include all samples. Topics whose consumers accept any order are not checked (`CONSUMER_GROUPS`).
 */
import { CONSUMER_GROUPS, markerKey, OFFSETS_PER_GENERATION, PartitionCheckpoint, TOPICS } from "@kapi/contracts";
import { endOffsets, hasGroupReached, type KafkaConnection, startLogReader, topicEnd } from "@kapi/kafka";
import type { Logger, Started } from "@kapi/runtime";

/** Reports which consumers and checkpoints are behind the log. */
export interface DrainCheck {
  /**
   * One text for each consumer group and topic that is behind. If no group is behind, one text for
   * each partition of samples whose checkpoints are behind. An empty list is final only while
   * gateways and trading servers do not send.
   */
  behind(): Promise<readonly string[]>;
}

/**
 * Starts to read the markers of `metrics.latest`, and resolves at the end of that log.
 * @throws if the end is not reached within `timeoutMs`.
 */
export async function startDrainCheck(
  kafka: KafkaConnection,
  timeoutMs: number,
  logger: Logger,
): Promise<Started<DrainCheck>> {
  /** The position in the newest marker of each partition. */
  const marked = new Map<number, number>();
  let failure: Error | null = null;
  const reader = await startLogReader(kafka, {
    topic: TOPICS.metricsLatest,
    from: "beginning",
    onBatch: (partition, messages) => {
      for (const { key, value } of messages) {
        if (key !== markerKey(partition)) continue;
        const { samplesOffset } = PartitionCheckpoint.parse(JSON.parse(value.toString("utf8")));
        marked.set(partition, samplesOffset);
      }
    },
    logger,
    fatal: (error) => (failure = error),
  });
  try {
    await reader.value.waitFor(await endOffsets(kafka, TOPICS.metricsLatest), timeoutMs);
  } catch (error) {
    await reader.stop();
    throw error;
  }
  const behind = async (): Promise<readonly string[]> => {
    if (failure !== null) throw failure;
    const groups = await groupsBehind(kafka);
    // The end of the samples is final only after all valuations have become samples.
    if (groups.length > 0) return groups;
    const samples = await endOffsets(kafka, TOPICS.metricsSamples);
    return partitionsBehind(marked, samples).map(
      (partition) => `checkpoints of partition ${partition} of metrics.samples`,
    );
  };
  return { value: { behind }, stop: () => reader.stop() };
}

/**
 * Returns the partitions of `metrics.samples` whose checkpoints may lack samples. All samples
 * before the position in a partition's marker are in the checkpoints. A marker of a deleted topic
 * does not count: the newest marker of all partitions shows the generation of the topic. A process
 * that continues with the recreated topic writes a marker for each of its partitions.
 * @param marked the positions in the markers. A partition without a marker is behind if it is not
 * empty.
 * @param ends the end of each partition, as an offset.
 */
export function partitionsBehind(
  marked: ReadonlyMap<number, number>,
  ends: ReadonlyMap<number, bigint>,
): readonly number[] {
  const newest = Math.max(0, ...marked.values());
  const first = newest - (newest % OFFSETS_PER_GENERATION);
  return [...ends].flatMap(([partition, end]) =>
    (marked.get(partition) ?? first) === first + Number(end) ? [] : [partition],
  );
}

async function groupsBehind(kafka: KafkaConnection): Promise<readonly string[]> {
  const wanted = Object.entries(CONSUMER_GROUPS).flatMap(([group, topics]) =>
    topics.map((topic) => ({ group, topic })),
  );
  const found = await Promise.all(
    wanted.map(async ({ group, topic }) => {
      const reached = await hasGroupReached(kafka, topic, group, await topicEnd(kafka, topic));
      return reached === true ? [] : [`group ${group} on ${topic.name}`];
    }),
  );
  return found.flat();
}
