/** The journal in PostgreSQL, with the stored states. */
import { retry } from "@kapi/kernel";
import { type Database, isTransient, isUniqueViolation, statement } from "@kapi/postgres";

import { appliedOutcome } from "./outcomes.ts";
import type { CommitBatch, Journal, JournalRow, Progress, PublishableEvent } from "./ports.ts";

/**
 * Separates list items in one text parameter. JSON, ids and numbers never contain it. PostgreSQL
 * splits such text much faster than it parses an array literal with escaped quotes.
 */
const SEPARATOR = "\u001f";
const RETRY_DELAY_MS = 200;

/**
 * One statement stores a whole commit: one round trip, one transaction. Returns no row, and stores
 * nothing, if another process has claimed the journal. The lock makes a claim wait for this commit.
 */
const WRITE_COMMIT = statement<{ writer: number }>(
  "trading_server_write_commit",
  `with own as materialized (
     select writer from progress where writer = $14 for share
   ), new_rows as (
     insert into journal (position, server_id, account_number, sequence, reference, event, outcome)
     select rows.* from own, unnest(
       $1::bigint[], string_to_array($2, E'\\x1f')::uuid[], string_to_array($3, E'\\x1f', ''), $4::bigint[],
       string_to_array($5, E'\\x1f', ''), string_to_array($6, E'\\x1f', ''), string_to_array($7, E'\\x1f', '')
     ) as rows
   ), new_accounts as (
     insert into accounts (server_id, account_number, position, state)
     select rows.* from own, unnest(
       string_to_array($8, E'\\x1f')::uuid[], string_to_array($9, E'\\x1f'), $10::bigint[], string_to_array($11, E'\\x1f')
     ) as rows
     on conflict (server_id, account_number) do update set position = excluded.position, state = excluded.state
   ), new_servers as (
     insert into servers (server_id, state)
     select rows.* from own, unnest(string_to_array($12, E'\\x1f')::uuid[], string_to_array($13, E'\\x1f')) as rows
     on conflict (server_id) do update set state = excluded.state
   )
   select writer from own`,
);

const ROW_AT = statement<Pick<JournalRow, "reference" | "event" | "outcome">>(
  "trading_server_row_at",
  "select reference, event, outcome from journal where position = $1",
);

/** Lateral join: one index search per reference, independent of the planner's estimates. */
const OUTCOMES = statement<{ reference: string; event: string | null; outcome: string | null }>(
  "trading_server_outcomes",
  `select known.reference, known.event, known.outcome
   from unnest(string_to_array($2, E'\\x1f')) as wanted (reference)
   cross join lateral (
     select reference, event, outcome from journal
     where server_id = $1 and journal.reference = wanted.reference and journal.reference is not null
     limit 1
   ) as known`,
);

const HISTORY = statement<{ event: string }>(
  "trading_server_history",
  `select event from journal
   where server_id = $1 and account_number = $2 and sequence > $3 and sequence is not null
   order by sequence limit $4`,
);

const EVENTS_AFTER = statement<{ position: number; server_id: string; account_number: string; event: string }>(
  "trading_server_events_after",
  `select position, server_id, account_number, event from journal
   where position > $1 and event is not null order by position limit $2`,
);

const SAVE_PROGRESS = statement<{ writer: number }>(
  "trading_server_save_progress",
  `update progress set checkpoint = greatest(checkpoint, $1), published = greatest(published, $2)
   where writer = $3 returning writer`,
);

/**
 * Returns the journal of a schema that has the migrations of this package.
 * @param writer number of this process, from `StoredState.claim`. After the claim of another
 * process, every write rejects.
 */
export function createJournal(database: Database, writer: number): Journal {
  return {
    write: (batch) => write(database, writer, batch),
    outcomesOf: async (serverId, references) => {
      const rows = await database.query(OUTCOMES, [serverId, references.join(SEPARATOR)]);
      return new Map(
        rows.map(({ reference, event, outcome }) => [
          reference,
          event === null ? (outcome ?? "") : appliedOutcome(reference, event),
        ]),
      );
    },
    history: async (serverId, accountNumber, since, limit) => {
      const rows = await database.query(HISTORY, [serverId, accountNumber, since, limit]);
      return rows.map((row) => row.event);
    },
    eventsAfter: async (position, limit) => {
      const rows = await database.query(EVENTS_AFTER, [position, limit]);
      return rows.map((row): PublishableEvent => ({
        position: row.position,
        key: `${row.server_id}/${row.account_number}`,
        value: row.event,
      }));
    },
    saveProgress: async ({ checkpoint, published }: Progress) => {
      expectWriter(await database.query(SAVE_PROGRESS, [checkpoint, published, writer]));
    },
  };
}

function expectWriter(rows: readonly unknown[]): void {
  if (rows.length > 0) return;
  throw new Error("another process has claimed this journal: run one process per schema");
}

/**
 * Stores a commit. Retries while the database is unavailable; `Committer` bounds the waiting
 * rows. If an attempt was stored but its answer was lost, the next attempt violates the primary
 * key.
 */
async function write(database: Database, writer: number, batch: CommitBatch): Promise<void> {
  const values = [...valuesOf(batch), writer];
  const attempt = async (): Promise<void> => {
    try {
      expectWriter(await database.query(WRITE_COMMIT, values));
    } catch (error) {
      if (!isUniqueViolation(error) || !(await isStored(database, batch))) throw error;
    }
  };
  await retry(attempt, { backOff: { firstMs: RETRY_DELAY_MS }, isRetryable: isTransient });
}

/** Whether the journal has the last row of the commit. Throws if another row has its position. */
async function isStored(database: Database, batch: CommitBatch): Promise<boolean> {
  const last = batch.rows.at(-1);
  if (last === undefined) return false;
  const [row] = await database.query(ROW_AT, [last.position]);
  if (row === undefined) return false;
  if (row.reference === last.reference && row.event === last.event && row.outcome === last.outcome) return true;
  throw new Error(`another process has used position ${last.position} of this journal: run one process per schema`);
}

function valuesOf({ rows, accounts, servers }: CommitBatch): unknown[] {
  const joined = (texts: readonly (string | null)[]): string => texts.map((text) => text ?? "").join(SEPARATOR);
  return [
    rows.map((row) => row.position),
    joined(rows.map((row) => row.serverId)),
    joined(rows.map((row) => row.accountNumber)),
    rows.map((row) => row.sequence),
    joined(rows.map((row) => row.reference)),
    joined(rows.map((row) => row.event)),
    joined(rows.map((row) => row.outcome)),
    joined(accounts.map((account) => account.serverId)),
    joined(accounts.map((account) => account.accountNumber)),
    accounts.map((account) => account.position),
    joined(accounts.map((account) => account.state)),
    joined(servers.map((server) => server.serverId)),
    joined(servers.map((server) => server.state)),
  ];
}
