/** Checks before topics grow that everything in the log is handled and stored. */
import { CONSUMER_GROUPS, markerKey, OFFSETS_PER_GENERATION, PartitionCheckpoint, TOPICS } from "@kapi/contracts";
import { endOffsets, hasGroupReached, type KafkaConnection, startLogReader, topicEnd } from "@kapi/kafka";
import type { Logger, Started } from "@kapi/runtime";

/** Reports which consumers and checkpoints are behind the log. */
export interface DrainCheck {
  /** One text for each consumer group and topic, or partition of samples, that is behind. */
  behind(): Promise<readonly string[]>;
}

/**
 * Starts to read the markers of `metrics.latest`: all samples before the offset of a marker are in
 * the checkpoints. Gateway and trading servers must not send meanwhile, so that the ends of their
 * topics are final.
 */
export async function startDrainCheck(kafka: KafkaConnection, logger: Logger): Promise<Started<DrainCheck>> {
  /** Offset in the newest marker, without the generation of the topic, by partition. */
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
    // The end of the samples is final only when all valuations are in samples.
    if (groups.length > 0) return groups;
    const samples = await endOffsets(kafka, TOPICS.metricsSamples);
    // A marker beyond the end is of a deleted topic. The samples of the recreated topic then have
    // no marker yet.
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
