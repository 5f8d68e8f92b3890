import type { LogReader } from "@kapi/kafka";

import type { SampleProgress } from "../domain/ports.ts";
import type { ReadPartitions } from "./assigned-partitions.ts";

/**
 * Maximum wait until the accounts of a newly assigned partition are restored. It is short, because
 * a batch that waits delays the next assignment of the group. The batch is tried again.
 */
const RESTORED_TIMEOUT_MS = 2_000;

/** Waits for the reader of `metrics.samples`. Rejects for a partition that it does not read. */
export function createSampleProgress(reader: Pick<LogReader, "waitFor">, partitions: ReadPartitions): SampleProgress {
  return {
    reached: async (partition, end, timeoutMs) => {
      await partitions.restored(partition, RESTORED_TIMEOUT_MS);
      await reader.waitFor(new Map([[partition, end]]), timeoutMs);
    },
  };
}

/** Like `progress`, but resolves at once for a partition that this process does not read. */
export function whereRead(progress: SampleProgress, partitions: ReadPartitions): SampleProgress {
  return {
    reached: async (partition, end, timeoutMs) => {
      if (partitions.isRead(partition)) await progress.reached(partition, end, timeoutMs);
    },
  };
}
