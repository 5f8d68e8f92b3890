/** Evidence of breaches, in PostgreSQL. */
import { promisify } from "node:util";
import { gunzip, gzip } from "node:zlib";

import { column } from "@kapi/commands";
import { type Database, statement } from "@kapi/postgres";

import type { UnprovenBreach } from "../../domain/evidence.ts";
import type { EvidenceStore } from "../../domain/ports.ts";
import { BREACH_COLUMNS, breachFromRow, type BreachRow } from "./breach-row.ts";

const compress = promisify(gzip);
const decompress = promisify(gunzip);

interface DueRow extends BreachRow {
  readonly organization_id: string;
  readonly partition: number;
  readonly currency: UnprovenBreach["currency"];
  readonly base_minor: number;
  readonly reference_at: Date | null;
  readonly rule_active_from: Date;
  readonly rule_active_from_offset: number | null;
  readonly valuation_offset: number | null;
  readonly is_of_deleted_topic: boolean;
}

// $1 partitions, $2 limit. Every server gets an equal share of the limit: the breaches of a failing
// server stay due, and could otherwise fill the whole limit.
const DUE = statement<DueRow>(
  "risk-due-evidence",
  `select ${BREACH_COLUMNS}, a.organization_id, a.partition, a.currency, a.base_minor::float8 as base_minor,
     a.reference_at, a.rule_active_from, a.rule_active_from_offset::float8 as rule_active_from_offset,
     a.valuation_offset::float8 as valuation_offset,
     a.valuation_partition is not null and a.valuation_offset is null as is_of_deleted_topic
   from alerts a left join evidence e on e.breach_id = a.id
   where a.id in (
     select id from alerts where partition = any($1::integer[]) and evidence_due_at <= now()
     order by row_number() over (partition by server_id order by evidence_due_at), evidence_due_at limit $2
   )`,
);
// $1 breach, $2 sequence, $3 extreme value, $4 its time, $5 document, $6 now.
const ADD = statement<{ breach_id: string }>(
  "risk-add-evidence",
  `with proven as (update alerts set evidence_due_at = null where id = $1)
   insert into evidence (breach_id, sequence, extreme_minor, extreme_at, document, stored_at)
   values ($1, $2, $3, $4, $5, $6) on conflict do nothing returning breach_id`,
);
// $1 breaches, $2 the new time, or null. Has no effect on a breach whose evidence another process
// has stored meanwhile.
const SET_DUE = statement<never>(
  "risk-set-evidence-due",
  `update alerts set evidence_due_at = $2 where id = any($1::uuid[]) and evidence_due_at is not null`,
);
// $1 server, $2 number, $3 breach.
const READ = statement<{ evidence_due_at: Date | null; document: Buffer | null }>(
  "risk-read-evidence",
  `select a.evidence_due_at, e.document from alerts a left join evidence e on e.breach_id = a.id
   where a.server_id = $1 and a.account_number = $2 and a.id = $3 and a.kind = 'breached'`,
);
// $1 time, $2 limit.
const DELETE_BEFORE = statement<{ breach_id: string }>(
  "risk-delete-evidence",
  `delete from evidence where breach_id in (
     select breach_id from evidence where stored_at < $1 order by stored_at limit $2
   ) returning breach_id`,
);

/** Creates the store; its methods are described in {@link EvidenceStore}. */
export function createEvidenceStore(database: Database): EvidenceStore {
  const setDue = async (breachIds: readonly string[], until: string | null): Promise<void> => {
    await database.query(SET_DUE, [column(breachIds), until]);
  };
  return {
    async due(partitions, limit) {
      const rows = await database.query(DUE, [column(partitions), limit]);
      return rows.map(unprovenFromRow);
    },
    async add(transaction, { unproven, sequence, extreme, document }, at) {
      const added = await transaction.query(ADD, [
        unproven.breach.id,
        sequence,
        extreme.valueMinor,
        extreme.at,
        await compress(document),
        at,
      ]);
      return added.length > 0;
    },
    postpone: (breachIds, until) => setDue(breachIds, until),
    giveUp: (breachIds) => setDue(breachIds, null),
    async read({ serverId, accountNumber }, breachId) {
      const [row] = await database.query(READ, [serverId, accountNumber, breachId]);
      if (row === undefined) return null;
      if (row.document !== null)
        return { status: "stored", document: (await decompress(row.document)).toString("utf8") };
      return row.evidence_due_at === null
        ? { status: "none" }
        : { status: "pending", dueAtMs: row.evidence_due_at.getTime() };
    },
    async deleteBefore(before, limit) {
      return (await database.query(DELETE_BEFORE, [before, limit])).length;
    },
  };
}

function unprovenFromRow(row: DueRow): UnprovenBreach {
  return {
    breach: breachFromRow(row),
    organizationId: row.organization_id,
    partition: row.partition,
    currency: row.currency,
    referenceMinor: row.reference_minor,
    baseMinor: row.base_minor,
    referenceAtMs: row.reference_at?.getTime() ?? null,
    thresholdMinor: row.threshold_minor,
    valueMinor: row.value_minor,
    measuredAtMs: row.measured_at.getTime(),
    ruleActiveFromMs: row.rule_active_from.getTime(),
    ruleActiveFromOffset: row.rule_active_from_offset,
    valuationOffset: row.valuation_offset,
    isOfDeletedTopic: row.is_of_deleted_topic,
  };
}
