import { type Shard, shardOf } from "@kapi/admission/redis";

import type { LedgerEntry, RecordedEntry } from "../../domain/credits/ledger-entry.ts";
import type { CreditTransaction } from "../../domain/credits/ports.ts";

/** The wallet shards of the entries, each once. */
export function shardsOf(entries: readonly LedgerEntry[]): Shard[] {
  return [...new Set(entries.map((entry) => shardOf(entry.organizationId)))];
}

/** Records entries that depend on nothing in Redis, under the locks of their shards. */
export async function recordUnderLocks(
  tx: CreditTransaction,
  entries: readonly LedgerEntry[],
  nowMs: number,
): Promise<RecordedEntry[]> {
  await tx.shareShardLocks(shardsOf(entries));
  return tx.recordEntries(entries, nowMs);
}
