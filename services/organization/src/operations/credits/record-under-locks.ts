import { type Shard, shardOf } from "@kapi/admission/redis";

import type { LedgerEntry, RecordedEntry } from "../../domain/credits/ledger-entry.ts";
import type { CreditTransaction } from "../../domain/credits/ports.ts";

/** The wallet shards of the entries, each once. */
export function shardsOf(entries: readonly LedgerEntry[]): Shard[] {
  return [...new Set(entries.map((entry) => shardOf(entry.organizationId)))];
}

/**
 * Shares the locks of the entries' shards, then records the entries. Entries that were read from
 * Redis must not be recorded with this function: the locks must be shared before that read
 * ({@link CreditTransaction.shareShardLocks}).
 */
export async function recordUnderLocks(
  tx: CreditTransaction,
  entries: readonly LedgerEntry[],
  nowMs: number,
): Promise<RecordedEntry[]> {
  await tx.shareShardLocks(shardsOf(entries));
  return tx.recordEntries(entries, nowMs);
}
