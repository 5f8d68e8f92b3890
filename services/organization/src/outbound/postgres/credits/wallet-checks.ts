import { toIso } from "@kapi/kernel";
import { type Database, type Queryable, statement } from "@kapi/postgres";
import type { Shard } from "@kapi/admission/redis";

import type {
  CheckableWallet,
  EntriesAfter,
  EntrySums,
  WalletCheck,
  WalletChecks,
} from "../../../domain/credits/drift-ports.ts";
import { entryName, plus, type WalletDelta } from "../../../domain/credits/ledger-entry.ts";
import { columnsOf } from "../columns.ts";
import { readKnown } from "./entries.ts";
import { perTable, tablesOf } from "./ledger-positions.ts";
import { raiseEpochExclusively } from "./wallets.ts";

/**
 * Maximum number of entries that a statement sums up, in equal parts for its wallets. A part
 * exceeds its size only by the other entries of its last epoch.
 */
const MAX_ENTRIES_PER_STATEMENT = 100_000;
const NOTHING: EntrySums = { entries: 0, sums: { purchased: 0, reserved: 0, consumed: 0 } };

interface CheckableRow extends WalletDelta, Pick<CheckableWallet, "organizationId" | "usageLines" | "waitsForRedis"> {
  readonly checked_epoch: number | null;
  readonly checked_purchased: number | null;
  readonly checked_reserved: number | null;
  readonly checked_consumed: number | null;
  readonly whole_at: Date | null;
  readonly closed_epoch: number | null;
  readonly closed_purchased: number;
  readonly closed_reserved: number;
  readonly closed_consumed: number;
}

const SELECT_SHARDS = statement<{ tag: Shard }>(
  "wallet_checks_select_tags",
  `select tag from tags where exists (select from wallets where wallets.tag = tags.tag) order by tag`,
);

const SELECT_WALLETS = statement<CheckableRow>(
  "wallet_checks_select_wallets",
  `select kept.organization_id as "organizationId", kept.purchased, kept.reserved, kept.consumed,
     kept.usage_lines as "usageLines", exists (
       select from pending_wallet_changes as pending where pending.organization_id = kept.organization_id
     ) as "waitsForRedis",
     checked.epoch as checked_epoch, checked.purchased as checked_purchased, checked.reserved as checked_reserved,
     checked.consumed as checked_consumed, checked.whole_at,
     extract(epoch from (dropped_through + interval '1 month') at time zone 'UTC')::bigint - 1 as closed_epoch,
     coalesce(closed.purchased, 0) as closed_purchased, coalesce(closed.reserved, 0) as closed_reserved,
     coalesce(closed.consumed, 0) as closed_consumed
   from wallets as kept cross join credit_ledger
     left join wallet_checks as checked on checked.organization_id = kept.organization_id
     left join wallet_closings as closed
       on closed.month = dropped_through and closed.organization_id = kept.organization_id
   where kept.tag = $1 and kept.organization_id > $2
   order by kept.organization_id limit $3`,
);

interface SumsRow extends WalletDelta {
  readonly organizationId: string;
  readonly throughEpoch: number;
  readonly entries: number;
}

// Sums up the entries after an epoch, up to and including the epoch of entry number $4 + 1. It
// repeats the rules of domain/credits/ledger-entry.ts on purpose: shared code would repeat the
// ledger's mistakes.
const sumEntries = perTable<SumsRow>(
  "wallet_checks_sum_entries",
  (table) =>
    `select asked.organization_id as "organizationId", part.through_epoch as "throughEpoch", found.entries,
       found.purchased, found.reserved, found.consumed
     from unnest($1::uuid[], $2::bigint[]) as asked (organization_id, after_epoch),
       lateral (
         select coalesce((
           select epoch from ${table} as entry
           where entry.organization_id = asked.organization_id and entry.epoch > asked.after_epoch and entry.epoch <= $3
           order by entry.epoch offset $4 limit 1), $3) as through_epoch
       ) as part,
       lateral (
         select count(*) as entries,
           coalesce(sum(credits) filter (where leg = 'purchase'), 0)::bigint as purchased,
           coalesce(sum(case leg when 'reserve' then credits when 'settle' then -credits end), 0)::bigint as reserved,
           coalesce(sum(case when leg = 'consume' or action = 'consume' then credits when leg = 'refund' then -credits end), 0)
             ::bigint as consumed
         from ${table} as entry
         where entry.organization_id = asked.organization_id
           and entry.epoch > asked.after_epoch and entry.epoch <= part.through_epoch
       ) as found`,
);
/** Entries from before the ledger had a table for each month, then the entries of all months. */
const ENTRY_TABLES = ["credit_legs", "credit_entries"];

const UPSERT_CHECKS = statement<Record<string, never>>(
  "wallet_checks_upsert",
  `insert into wallet_checks (organization_id, epoch, purchased, reserved, consumed, whole_at)
   select * from unnest($1::uuid[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::timestamptz[]) as given
     (organization_id, epoch, purchased, reserved, consumed, whole_at)
   order by organization_id
   on conflict (organization_id) do update
   set epoch = excluded.epoch, purchased = excluded.purchased, reserved = excluded.reserved, consumed = excluded.consumed,
     whole_at = excluded.whole_at
   where wallet_checks.epoch < excluded.epoch`,
);

/** Implements the reads and writes of the drift check. */
export function createWalletChecks(database: Database): WalletChecks {
  return {
    shards: async () => (await database.query(SELECT_SHARDS, [])).map((row) => row.tag),
    withPage: (shard, afterId, limit, work) =>
      database.transaction(async (tx) => {
        const position = await raiseEpochExclusively(tx, shard);
        const wallets = (await tx.query(SELECT_WALLETS, [shard, afterId, limit])).map(walletFromRow);
        return work({ throughEpoch: position.epoch - 1, wallets }, async (entries) => {
          const recorded = await readKnown(tx, tablesOf([position]), entries);
          return entries.filter((entry) => !recorded.has(entryName(entry)));
        });
      }),
    sumEntries: async (asked, throughEpoch) => {
      const sums = new Map<string, EntrySums>(asked.map((one) => [one.organizationId, NOTHING]));
      for (const table of ENTRY_TABLES) await sumInParts(database, table, asked, throughEpoch, sums);
      return sums;
    },
    keep: (checks) => keep(database, checks),
  };
}

/** Adds sums of entries to `sums`, a bounded number of entries per statement. */
async function sumInParts(
  database: Queryable,
  table: string,
  asked: readonly EntriesAfter[],
  throughEpoch: number,
  sums: Map<string, EntrySums>,
): Promise<void> {
  let left = asked;
  while (left.length > 0) {
    const each = Math.max(1, Math.floor(MAX_ENTRIES_PER_STATEMENT / left.length));
    const columns = columnsOf(left, "organizationId", "afterEpoch");
    const rows = await database.query(sumEntries(table), [...columns, throughEpoch, each - 1]);
    for (const row of rows) {
      const before = sums.get(row.organizationId) ?? NOTHING;
      sums.set(row.organizationId, { entries: before.entries + row.entries, sums: plus(before.sums, row) });
    }
    left = rows
      .filter((row) => row.throughEpoch < throughEpoch)
      .map((row) => ({ organizationId: row.organizationId, afterEpoch: row.throughEpoch }));
  }
}

async function keep(database: Queryable, checks: readonly WalletCheck[]): Promise<void> {
  if (checks.length === 0) return;
  const rows = checks.map(({ sums, wholeAtMs, ...check }) => ({ ...check, ...sums, wholeAt: toIso(wholeAtMs) }));
  const columns = ["organizationId", "epoch", "purchased", "reserved", "consumed", "wholeAt"] as const;
  await database.query(UPSERT_CHECKS, columnsOf(rows, ...columns));
}

function walletFromRow(row: CheckableRow): CheckableWallet {
  const { organizationId, checked_epoch: checkedEpoch, whole_at: wholeAt, closed_epoch: closedEpoch } = row;
  const checked = sumsOf(row.checked_purchased, row.checked_reserved, row.checked_consumed);
  const closed = sumsOf(row.closed_purchased, row.closed_reserved, row.closed_consumed);
  return {
    organizationId,
    sums: sumsOf(row.purchased, row.reserved, row.consumed),
    usageLines: row.usageLines,
    waitsForRedis: row.waitsForRedis,
    checked:
      checkedEpoch === null || wholeAt === null
        ? null
        : { organizationId, epoch: checkedEpoch, sums: checked, wholeAtMs: wholeAt.getTime() },
    closing: closedEpoch === null ? null : { epoch: closedEpoch, sums: closed },
  };
}

function sumsOf(purchased: number | null, reserved: number | null, consumed: number | null): WalletDelta {
  return { purchased: purchased ?? 0, reserved: reserved ?? 0, consumed: consumed ?? 0 };
}
