/**
 * The one way by which a fact gets onto `account.events`: it takes its number inside the
 * transaction that commits it, so that the facts of an account are numbered from 1 without a gap,
 * over all kinds (decisions, 11).
 */
import { column, type WorkTransaction } from "@kapi/commands";
import { type AccountFact, accountKey, type FactPlace, TOPICS } from "@kapi/contracts";
import { assertDefined, uuidV5 } from "@kapi/kernel";
import { statement } from "@kapi/postgres";

import type { FactDraft, FactSpans } from "../../domain/account-fact.ts";
import type { StoredStatus } from "../../domain/account-status.ts";
import { IN_LOCK_ORDER } from "./account-row.ts";

interface CountedRow {
  readonly id: string;
  readonly organization_id: string;
  readonly server_id: string;
  readonly account_number: string;
  readonly fact_sequence: number;
  readonly status: StoredStatus;
  /** Null where nothing of the account is booked, or no event is booked any more. */
  readonly booked_sequence: number | null;
  readonly ledger_sequence: number | null;
}

// $1 server id, $2 account number, $3 how many facts; each account once.
const COUNT_FACTS = statement<CountedRow>(
  "account-count-facts",
  `with due as materialized (
     select a.id, a.server_id, a.account_number, counted.facts
     from unnest($1::uuid[], $2::text[], $3::integer[]) as counted(server_id, account_number, facts)
     join accounts a on a.server_id = counted.server_id and a.account_number = counted.account_number
     where a.status <> 'deleted'
     ${IN_LOCK_ORDER}
   )
   update accounts set fact_sequence = accounts.fact_sequence + due.facts
   from due left join feeds f on f.server_id = due.server_id and f.account_number = due.account_number
   where accounts.id = due.id
   returning accounts.id, accounts.organization_id, accounts.server_id, accounts.account_number,
     accounts.fact_sequence, accounts.status, f.booked_sequence, f.ledger_sequence`,
);

/**
 * Records facts of any number of accounts, those of one account in the given order, with one
 * statement; published after the commit of `transaction`. Of each account the facts get the next
 * numbers, and ids that follow from account and number. The accounts' rows stay locked until the
 * end of the transaction. Facts of an account that is not known or marked `deleted` are left out,
 * and no number is used up: record the fact of a deletion before the account is marked. Returns
 * what was recorded.
 */
export async function recordFacts(
  transaction: WorkTransaction,
  drafts: readonly FactDraft[],
  spans?: FactSpans,
): Promise<AccountFact[]> {
  if (drafts.length === 0) return [];
  const byAccount = Map.groupBy(drafts, (draft) => accountKey(draft.serverId, draft.accountNumber));
  const counted = [...byAccount.values()].map((facts) => ({
    account: assertDefined(facts[0], "a fact"),
    count: facts.length,
  }));
  const rows = await transaction.query(COUNT_FACTS, [
    column(counted.map(({ account }) => account.serverId)),
    column(counted.map(({ account }) => account.accountNumber)),
    column(counted.map(({ count }) => count)),
  ]);
  const recorded = rows.flatMap((row) =>
    numbered(row, byAccount.get(accountKey(row.server_id, row.account_number)) ?? []),
  );
  transaction.enqueue(
    recorded.map((fact) => {
      const key = accountKey(fact.serverId, fact.accountNumber);
      return { topic: TOPICS.accountEvents, key, value: JSON.stringify(fact), traceparent: spans?.get(key) };
    }),
  );
  return recorded;
}

/**
 * The place behind all events that are booked: who commits the fact holds the account's row, so no
 * event is booked meanwhile. None where 0.1.0 began the deletion: it has removed how far the
 * account was booked.
 */
function placeBehindBooked(row: CountedRow): FactPlace | undefined {
  if (row.status === "deleting" && row.booked_sequence === null) return undefined;
  return { through: row.booked_sequence ?? 0, after: row.ledger_sequence ?? 0 };
}

function numbered(row: CountedRow, drafts: readonly FactDraft[]): AccountFact[] {
  const before = row.fact_sequence - drafts.length;
  return drafts.map((draft, index) => {
    const accountSequence = before + index + 1;
    return {
      eventId: uuidV5(row.id, `fact/${accountSequence}`),
      organizationId: row.organization_id,
      accountSequence,
      ...draft,
      place: draft.place ?? placeBehindBooked(row),
    };
  });
}
