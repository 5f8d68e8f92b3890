import { type Queryable, statement, type Transaction } from "@kapi/postgres";

// Sorted: one lock order for all processes prevents deadlocks.
const raiseOffsets = statement<Record<string, never>>(
  "consumed_offsets_raise",
  `insert into consumed_offsets (partition_number, next_offset)
   select * from unnest($1::integer[], $2::bigint[]) as reached (partition_number, next_offset)
   order by partition_number
   on conflict (partition_number) do update
   set next_offset = greatest(consumed_offsets.next_offset, excluded.next_offset)`,
);
const selectOffsets = statement<{ partition_number: number; next_offset: number }>(
  "consumed_offsets_select",
  `select partition_number, next_offset from consumed_offsets`,
);

/**
 * Records in the same transaction that the ledger has all events of these partitions before
 * `nextOffset`.
 */
export function raiseConsumedOffsets(
  tx: Transaction,
  reached: readonly { partition: number; nextOffset: bigint }[],
): void {
  tx.execute(raiseOffsets, [
    reached.map(({ partition }) => partition),
    reached.map(({ nextOffset }) => String(nextOffset)),
  ]);
}

/** The offset of each partition of `command.events` before which the ledger has everything. */
export async function consumedOffsets(database: Queryable): Promise<Map<number, bigint>> {
  const rows = await database.query(selectOffsets, []);
  return new Map(rows.map((row) => [row.partition_number, BigInt(row.next_offset)]));
}
