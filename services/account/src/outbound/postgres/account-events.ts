/**
 * The only writer of `account.events`. An event is numbered in the transaction that commits it, so
 * the events of an account are numbered from 1 without a gap, over all kinds.
 * Stored data keeps the old word `fact`: the column `fact_sequence`, and the text that event ids
 * are derived from.
 */
import { column, type WorkTransaction } from "@kapi/commands";
import { type AccountEvent, accountKey, type EventPlace, TOPICS } from "@kapi/contracts";
import { assertDefined, uuidV5 } from "@kapi/kernel";
import { statement } from "@kapi/postgres";

import type { AccountEventDraft, EventSpans } from "../../domain/account-event.ts";
import type { StoredStatus } from "../../domain/account-status.ts";
import { IN_LOCK_ORDER } from "./account-row.ts";

interface CountedRow {
  readonly id: string;
  readonly organization_id: string;
  readonly server_id: string;
  readonly account_number: string;
  readonly fact_sequence: number;
  readonly status: StoredStatus;
  /**
   * Null if nothing of the account is booked, or release 0.1.0 removed its feed.
   * `Number.MAX_SAFE_INTEGER` if the account was deleted without its last events, because they
   * could not be booked.
   */
  readonly booked_sequence: number | null;
  readonly ledger_sequence: number | null;
}

// $1 server ids, $2 account numbers, $3 how many events each account gets. Each account once.
const COUNT_EVENTS = statement<CountedRow>(
  "account-count-events",
  `with due as materialized (
     select a.id, a.server_id, a.account_number, counted.events
     from unnest($1::uuid[], $2::text[], $3::integer[]) as counted(server_id, account_number, events)
     join accounts a on a.server_id = counted.server_id and a.account_number = counted.account_number
     where a.status <> 'deleted'
     ${IN_LOCK_ORDER}
   )
   update accounts set fact_sequence = accounts.fact_sequence + due.events
   from due left join feeds f on f.server_id = due.server_id and f.account_number = due.account_number
   where accounts.id = due.id
   returning accounts.id, accounts.organization_id, accounts.server_id, accounts.account_number,
     accounts.fact_sequence, accounts.status, f.booked_sequence, f.ledger_sequence`,
);

/**
 * Records events of any number of accounts with one statement, in the given order per account. They
 * are published after the commit of `transaction`. Each event gets the next number of its account.
 * Its id is derived from the account and this number. The accounts' rows stay locked until the end
 * of the transaction. Events of unknown and `deleted` accounts are skipped: record a deletion
 * before marking the account. Returns the recorded events.
 */
export async function recordEvents(
  transaction: WorkTransaction,
  drafts: readonly AccountEventDraft[],
  spans?: EventSpans,
): Promise<AccountEvent[]> {
  if (drafts.length === 0) return [];
  const byAccount = Map.groupBy(drafts, (draft) => accountKey(draft.serverId, draft.accountNumber));
  const counted = [...byAccount.values()].map((events) => ({
    account: assertDefined(events[0], "an event"),
    count: events.length,
  }));
  const rows = await transaction.query(COUNT_EVENTS, [
    column(counted.map(({ account }) => account.serverId)),
    column(counted.map(({ account }) => account.accountNumber)),
    column(counted.map(({ count }) => count)),
  ]);
  const recorded = rows.flatMap((row) =>
    numbered(row, byAccount.get(accountKey(row.server_id, row.account_number)) ?? []),
  );
  transaction.enqueue(
    recorded.map((accountEvent) => {
      const key = accountKey(accountEvent.serverId, accountEvent.accountNumber);
      return { topic: TOPICS.accountEvents, key, value: JSON.stringify(accountEvent), traceparent: spans?.get(key) };
    }),
  );
  return recorded;
}

/**
 * The place after all booked events. The caller holds the account's row, so no event is booked
 * meanwhile. Undefined if release 0.1.0 started the deletion: that release removed the account's
 * feed.
 */
function placeBehindBooked(row: CountedRow): EventPlace | undefined {
  if (row.status === "deleting" && row.booked_sequence === null) return undefined;
  return { through: row.booked_sequence ?? 0, after: row.ledger_sequence ?? 0 };
}

function numbered(row: CountedRow, drafts: readonly AccountEventDraft[]): AccountEvent[] {
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
