import { accountKey } from "@kapi/contracts";

import type { CheckpointSink, DeletionSink, SampleProgress, SnapshotStore } from "../domain/ports.ts";
import type { AccountId } from "../domain/sample.ts";

/** How long this process may take to read what it has told the others. */
const REACHED_TIMEOUT_MS = 3_000;
/** What stands in `metrics.latest` for an account that is gone for good. */
const GONE = "";

/**
 * Deletes what metrics knows of an account, for good: its snapshots and states; then, by a record
 * in the log of samples which every process reads, its window, its subscriptions (they are told)
 * and its place in the sequencer; then its checkpoint. Whatever comes of it later counts nowhere.
 * Repeating it is safe, and completes what failed before.
 */
export async function deleteTradingAccountMetrics(
  needs: {
    readonly store: SnapshotStore;
    readonly deletions: DeletionSink;
    readonly checkpoints: CheckpointSink;
    readonly progress: SampleProgress;
  },
  { serverId, accountNumber }: AccountId,
): Promise<void> {
  const { store, deletions, checkpoints, progress } = needs;
  await store.forget({ serverId, accountNumber });
  const key = accountKey(serverId, accountNumber);
  const { partition, end } = await deletions.tell(key);
  await progress.reached(partition, end, REACHED_TIMEOUT_MS);
  await checkpoints.write(partition, key, GONE);
}
