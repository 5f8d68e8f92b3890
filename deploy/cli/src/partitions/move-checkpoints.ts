/**
 * Moves the checkpoints of accounts that have another partition after the growth. Each checkpoint
 * is copied to the new partition, then removed from the former one. Safe to repeat.
 */
import { markerKey, movedCheckpoint, SampleCheckpoint, TOPICS } from "@kapi/contracts";
import { type KafkaConnection, partitionOfKey, type Producer, startLogReader, startProducer } from "@kapi/kafka";
import { deferred } from "@kapi/kernel";
import type { Logger } from "@kapi/runtime";

/** Maximum number of concurrent writes. */
const MAX_CONCURRENT_WRITES = 1_000;

interface MoveOptions {
  readonly kafka: KafkaConnection;
  /** The number of partitions after the growth. */
  readonly partitions: number;
  readonly logger: Logger;
}

/**
 * Moves the checkpoints after `metrics.latest` has grown. Returns the number of accounts that
 * moved. Keeps the checkpoints of only one partition in memory at a time.
 */
export async function moveCheckpoints(options: MoveOptions): Promise<number> {
  // A producer knows only the partitions that exist when it starts, so it starts after the growth.
  const { value: producer, stop } = await startProducer(options.kafka);
  try {
    let moved = 0;
    for (let partition = 0; partition < options.partitions; partition += 1) {
      const leaving = await readLeaving(options, partition);
      // The copies are durable before the first record is removed.
      await writeAll(
        producer,
        [...leaving].map(([key, value]) => ({ key, value, to: partitionOf(options, key) })),
      );
      await writeAll(
        producer,
        [...leaving.keys()].map((key) => ({ key, value: null, to: partition })),
      );
      moved += leaving.size;
    }
    return moved;
  } finally {
    await stop();
  }
}

/** The newest checkpoints on `partition` of accounts that belong to another partition. */
async function readLeaving(options: MoveOptions, partition: number): Promise<ReadonlyMap<string, string>> {
  const { kafka, logger } = options;
  const leaving = new Map<string, SampleCheckpoint>();
  const failed = deferred<never>();
  const reader = await startLogReader(kafka, {
    topic: TOPICS.metricsLatest,
    from: "nothing",
    onBatch: (_partition, messages) => {
      for (const { key, value } of messages) {
        if (key === markerKey(partition) || partitionOf(options, key) === partition) continue;
        if (value.length === 0) leaving.delete(key);
        else keepNewest(leaving, key, SampleCheckpoint.parse(JSON.parse(value.toString("utf8"))));
      }
    },
    logger,
    fatal: failed.reject,
  });
  try {
    await Promise.race([reader.value.add(new Map([[partition, "beginning"]])), failed.promise]);
  } finally {
    await reader.stop();
  }
  return new Map([...leaving].map(([key, checkpoint]) => [key, JSON.stringify(movedCheckpoint(checkpoint))]));
}

/** A process that had lost its partition may have written last: the highest sequence wins. */
function keepNewest(leaving: Map<string, SampleCheckpoint>, key: string, checkpoint: SampleCheckpoint): void {
  const known = leaving.get(key);
  if (known === undefined || known.sequence <= checkpoint.sequence) leaving.set(key, checkpoint);
}

async function writeAll(
  producer: Producer,
  writes: readonly { readonly key: string; readonly value: string | null; readonly to: number }[],
): Promise<void> {
  for (let start = 0; start < writes.length; start += MAX_CONCURRENT_WRITES) {
    const batch = writes.slice(start, start + MAX_CONCURRENT_WRITES);
    await Promise.all(
      batch.map(({ key, value, to }) => producer.send(TOPICS.metricsLatest, { key, value, partition: to })),
    );
  }
}

function partitionOf({ partitions }: MoveOptions, key: string): number {
  return partitionOfKey(key, partitions);
}
