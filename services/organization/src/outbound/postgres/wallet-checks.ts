import { toIso } from "@kapi/kernel";
import { type Database, type Queryable, statement } from "@kapi/postgres";
import type { Tag } from "@kapi/redis";

import type { CheckableWallet, LegSums, WalletCheck, WalletChecks, WalletLook } from "../../domain/drift-ports.ts";
import { type Leg, type LegKind, legName } from "../../domain/leg.ts";
import { raiseEpochAlone } from "./wallets.ts";

interface CheckableRow {
  readonly organization_id: string;
  readonly purchased: number;
  readonly reserved: number;
  readonly consumed: number;
  readonly usage_lines: number;
  readonly waits: boolean;
  readonly checked_epoch: number | null;
  readonly checked_purchased: number | null;
  readonly checked_reserved: number | null;
  readonly checked_consumed: number | null;
  readonly whole_at: Date | null;
}

const selectTags = statement<{ tag: Tag }>(
  "wallet_checks_select_tags",
  `select tag from tags where exists (select from wallets where wallets.tag = tags.tag) order by tag`,
);

const selectWallets = statement<CheckableRow>(
  "wallet_checks_select_wallets",
  `select kept.organization_id, kept.purchased, kept.reserved, kept.consumed, kept.usage_lines,
     exists (select from pending_wallet_changes as pending where pending.organization_id = kept.organization_id) as waits,
     checked.epoch as checked_epoch, checked.purchased as checked_purchased, checked.reserved as checked_reserved,
     checked.consumed as checked_consumed, checked.whole_at
   from wallets as kept left join wallet_checks as checked on checked.organization_id = kept.organization_id
   where kept.tag = $1 and kept.organization_id > $2
   order by kept.organization_id limit $3`,
);

const selectRecorded = statement<{ charge_id: string; leg: LegKind }>(
  "wallet_checks_select_recorded",
  `select charge_id, leg from credit_legs where (charge_id, leg) in (select * from unnest($1::uuid[], $2::text[]))`,
);

interface SumsRow {
  readonly organization_id: string;
  readonly legs: number;
  readonly purchased: number;
  readonly reserved: number;
  readonly consumed: number;
}

// What each leg changes is told once more than in domain/leg.ts, on purpose: a check that computes as the ledger does would
// find what the ledger finds.
const sumLegs = statement<SumsRow>(
  "wallet_checks_sum_legs",
  `select asked.organization_id, found.legs, found.purchased, found.reserved, found.consumed
   from unnest($1::uuid[], $2::bigint[]) as asked (organization_id, after_epoch),
     lateral (
       select count(*) as legs,
         coalesce(sum(credits) filter (where leg = 'purchase'), 0)::bigint as purchased,
         coalesce(sum(case leg when 'reserve' then credits when 'settle' then -credits end), 0)::bigint as reserved,
         coalesce(sum(case when leg = 'consume' or action = 'consume' then credits when leg = 'refund' then -credits end), 0)
           ::bigint as consumed
       from credit_legs
       where credit_legs.organization_id = asked.organization_id
         and credit_legs.epoch > asked.after_epoch and credit_legs.epoch <= $3
     ) as found`,
);

const upsertChecks = statement<Record<string, never>>(
  "wallet_checks_upsert",
  `insert into wallet_checks (organization_id, epoch, purchased, reserved, consumed, whole_at)
   select * from unnest($1::uuid[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::timestamptz[]) as told
     (organization_id, epoch, purchased, reserved, consumed, whole_at)
   order by organization_id
   on conflict (organization_id) do update
   set epoch = excluded.epoch, purchased = excluded.purchased, reserved = excluded.reserved, consumed = excluded.consumed,
     whole_at = excluded.whole_at
   where wallet_checks.epoch < excluded.epoch`,
);

/** What checks of wallets read and keep, in PostgreSQL. */
export function createWalletChecks(database: Database): WalletChecks {
  return {
    tags: async () => (await database.query(selectTags, [])).map((row) => row.tag),
    alone: (work) =>
      database.transaction((tx) =>
        work({
          look: (tag, afterId, limit) => look(tx, tag, afterId, limit),
          unrecorded: (told) => unrecorded(tx, told),
        }),
      ),
    sumLegs: async (asked, throughEpoch) => {
      const ids = asked.map((one) => one.organizationId);
      const rows = await database.query(sumLegs, [ids, asked.map((one) => one.afterEpoch), throughEpoch]);
      return new Map(rows.map((row) => [row.organization_id, sumsFromRow(row)]));
    },
    keep: (checks) => keep(database, checks),
  };
}

async function look(tx: Queryable, tag: Tag, afterId: string, limit: number): Promise<WalletLook> {
  const raised = await raiseEpochAlone(tx, tag);
  const rows = await tx.query(selectWallets, [tag, afterId, limit]);
  return { throughEpoch: raised - 1, wallets: rows.map(walletFromRow) };
}

async function unrecorded(tx: Queryable, told: readonly Leg[]): Promise<Leg[]> {
  if (told.length === 0) return [];
  const rows = await tx.query(selectRecorded, [told.map((leg) => leg.chargeId), told.map((leg) => leg.kind)]);
  const recorded = new Set(rows.map((row) => legName({ chargeId: row.charge_id, kind: row.leg })));
  return told.filter((leg) => !recorded.has(legName(leg)));
}

async function keep(database: Queryable, checks: readonly WalletCheck[]): Promise<void> {
  if (checks.length === 0) return;
  await database.query(upsertChecks, [
    checks.map((check) => check.organizationId),
    checks.map((check) => check.epoch),
    checks.map((check) => check.sums.purchased),
    checks.map((check) => check.sums.reserved),
    checks.map((check) => check.sums.consumed),
    checks.map((check) => toIso(check.wholeAtMs)),
  ]);
}

function sumsFromRow({ legs, purchased, reserved, consumed }: SumsRow): LegSums {
  return { legs, sums: { purchased, reserved, consumed } };
}

function walletFromRow(row: CheckableRow): CheckableWallet {
  const { checked_epoch: epoch, whole_at: wholeAt } = row;
  const checked =
    epoch === null || wholeAt === null
      ? null
      : {
          organizationId: row.organization_id,
          epoch,
          sums: {
            purchased: row.checked_purchased ?? 0,
            reserved: row.checked_reserved ?? 0,
            consumed: row.checked_consumed ?? 0,
          },
          wholeAtMs: wholeAt.getTime(),
        };
  return {
    organizationId: row.organization_id,
    sums: { purchased: row.purchased, reserved: row.reserved, consumed: row.consumed },
    usageLines: row.usage_lines,
    waitsForRedis: row.waits,
    checked,
  };
}
