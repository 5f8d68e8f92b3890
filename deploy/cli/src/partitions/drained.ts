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
 * Starts to read the markers of `metrics.latest`, and resolves at the end of that log. All samples
 * of a partition before the offset of its marker are in the checkpoints.
 */
export async function startDrainCheck(kafka: KafkaConnection, logger: Logger): Promise<Started<DrainCheck>> {
  /** The offset in the newest marker of each partition, without the generation of the topic. */
  const marked = new Map<number, number>();
  let failure: Error | null = null;
  const reader = await startLogReader(kafka, {
    topic: TOPICS.metricsLatest,
    from: "beginning",
    onBatch: (partition, messages) => {
      for (const { key, value } of messages) {
        if (key !== markerKey(partition)) continue;
        const { samplesOffset } = PartitionCheckpoint.parse(JSON.parse(value.toString("utf8")));
        marked.set(partition, samplesOffset % OFFSETS_PER_GENERATION);
      }
    },
    logger,
    fatal: (error) => (failure = error),
  });
  await reader.value.caughtUp;
  const behind = async (): Promise<readonly string[]> => {
    if (failure !== null) throw failure;
    const groups = await groupsBehind(kafka);
    // The end of the samples is final only after all valuations have become samples.
    if (groups.length > 0) return groups;
    const samples = await endOffsets(kafka, TOPICS.metricsSamples);
    // A marker beyond the end belongs to a deleted topic. The recreated topic has no marker yet, so
    // the checkpoints of the partition are behind.
    return [...samples].flatMap(([partition, end]) =>
      (marked.get(partition) ?? 0) === Number(end) ? [] : [`checkpoints of partition ${partition} of metrics.samples`],
    );
  };
  return { value: { behind }, stop: () => reader.stop() };
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
