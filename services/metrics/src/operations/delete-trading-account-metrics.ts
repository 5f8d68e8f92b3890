import { accountKey, type AccountRef } from "@kapi/contracts";

import type { CheckpointSink, DeletionSink, SampleProgress, SnapshotStore } from "../domain/ports.ts";

/** Time limit for this process to read its own deletion record. */
const REACHED_TIMEOUT_MS = 3_000;

/**
 * Deletes all data of an account, in this order:
 * 1. its rows in PostgreSQL, in the transaction that records the deletion;
 * 2. its window, subscriptions and `AccountWriter` in every process, by a record in
 *    `metrics.samples`;
 * 3. its checkpoint.
 * Later records of the account are rejected. Idempotent: a repeat completes a failed deletion.
 */
export async function deleteTradingAccountMetrics(
  dependencies: {
    readonly store: SnapshotStore;
    readonly deletions: DeletionSink;
    readonly checkpoints: CheckpointSink;
    /** Resolves at once for a partition that this process does not read. */
    readonly progress: SampleProgress;
  },
  { serverId, accountNumber }: AccountRef,
): Promise<void> {
  const { store, deletions, checkpoints, progress } = dependencies;
  await store.deleteAccount({ serverId, accountNumber });
  const key = accountKey(serverId, accountNumber);
  const { partition, end } = await deletions.publish(key);
  await progress.reached(partition, end, REACHED_TIMEOUT_MS);
  await checkpoints.write(partition, key, null);
}
