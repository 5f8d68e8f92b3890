import type { OutboxTransaction } from "@kapi/outbox";
import { type Database, statement } from "@kapi/postgres";
import type { Shard } from "@kapi/admission/redis";

import type { AuditTransaction } from "../../../domain/audit.ts";
import type { CreditStore, CreditTransaction } from "../../../domain/credits/ports.ts";
import { columnsOf } from "../columns.ts";
import { selectConsumed, SELECT_PURCHASE, selectSettlements } from "./entries.ts";
import { recordEntries, shareShardLocks } from "./ledger.ts";
import { type LedgerPosition, queryAll, tablesOf } from "./ledger-positions.ts";
import { pendingChanges } from "./pending-wallet-changes.ts";
import { walletStore, walletTransaction } from "./wallets.ts";

// Sorted: one lock order for all processes prevents deadlocks.
const RAISE_OFFSETS = statement<Record<string, never>>(
  "consumed_offsets_raise",
  `insert into consumed_offsets (partition_number, next_offset)
   select * from unnest($1::integer[], $2::bigint[]) as reached (partition_number, next_offset)
   order by partition_number
   on conflict (partition_number) do update
   set next_offset = greatest(consumed_offsets.next_offset, excluded.next_offset)`,
);
const SELECT_OFFSETS = statement<{ partition: number; nextOffset: number }>(
  "consumed_offsets_select",
  `select partition_number as partition, next_offset as "nextOffset" from consumed_offsets`,
);

/** Reads and single writes of the ledger outside of a {@link CreditTransaction}, in PostgreSQL. */
export function creditStore(database: Database): Omit<CreditStore, "transaction" | "organizationExists"> {
  return {
    ...walletStore(database),
    ...pendingChanges(database),
    consumedOffsets: async () => {
      const rows = await database.query(SELECT_OFFSETS, []);
      return new Map(rows.map(({ partition, nextOffset }) => [partition, BigInt(nextOffset)]));
    },
  };
}

/** The ledger's part of a transaction. It keeps the positions of the shards that it locked. */
export function creditTransaction(tx: OutboxTransaction): Omit<CreditTransaction, keyof AuditTransaction> {
  const positions = new Map<Shard, LedgerPosition>();
  return {
    ...walletTransaction(tx),
    insertPending: pendingChanges(tx).insertPending,
    shareShardLocks: async (shards) => {
      for (const [shard, position] of await shareShardLocks(tx, shards)) positions.set(shard, position);
    },
    recordEntries: (entries, nowMs) => recordEntries(tx, positions, entries, nowMs),
    raiseConsumedOffsets: (reached) => {
      const rows = reached.map(({ partition, nextOffset }) => ({ partition, nextOffset: String(nextOffset) }));
      tx.execute(RAISE_OFFSETS, columnsOf(rows, "partition", "nextOffset"));
    },
    readSettlements: (chargeIds) => queryAll(tx, tablesOf(positions.values()), selectSettlements, [chargeIds]),
    readConsumed: async (chargeIds) => {
      const rows = await queryAll(tx, tablesOf(positions.values()), selectConsumed, [chargeIds]);
      return new Map(rows.map(({ chargeId, credits }) => [chargeId, credits]));
    },
    readPurchase: async (purchaseId) => (await tx.query(SELECT_PURCHASE, [purchaseId]))[0] ?? null,
  };
}
