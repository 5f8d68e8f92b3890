import type { LogReader } from "@kapi/kafka";

import type { SampleProgress } from "../domain/ports.ts";
import type { ReadPartitions } from "./assigned-partitions.ts";

/**
 * Time limit for the accounts of a new partition. It is short, because a batch that waits holds
 * back the next assignment of the group; the batch is tried again.
 */
const RESTORED_TIMEOUT_MS = 2_000;

/** How far this process has read its partitions; rejects for other partitions. */
export function createSampleProgress(reader: Pick<LogReader, "waitFor">, partitions: ReadPartitions): SampleProgress {
  return {
    reached: async (partition, end, timeoutMs) => {
      await partitions.restored(partition, RESTORED_TIMEOUT_MS);
      await reader.waitFor(new Map([[partition, end]]), timeoutMs);
    },
  };
}

/** The same, but resolves at once for a partition that this process does not read. */
export function whereRead(progress: SampleProgress, partitions: ReadPartitions): SampleProgress {
  return {
    reached: async (partition, end, timeoutMs) => {
      if (partitions.isRead(partition)) await progress.reached(partition, end, timeoutMs);
    },
  };
}
