/**
 * The two row formats of a table `outbox`. Each row has `id` and `created_at`, and is deleted after
 * it was published.
 */
import { type Statement, statement } from "@kapi/postgres";

/**
 * How the poller reads leftovers (rows that are old and still not published) from a table of one
 * format, and locks them for its transaction.
 */
export interface OutboxRows {
  /**
   * $1 minimum age in ms, $2 maximum number of rows, $3 maximum number of bytes, which the first
   * row may exceed, $4 the id after which rows are read. Oldest first; skips rows that another
   * poller has locked.
   */
  readonly leftovers: Statement<{ id: number; messages: string }>;
}

/**
 * A row has all messages of a transaction, in the column `messages`. PostgreSQL knows the size of
 * the value without reading it, so the limit of bytes costs little.
 */
export const ROW_PER_TRANSACTION: OutboxRows = rowsWith("outbox_leftovers", "messages");

/** A row has one message, in the columns `topic`, `key`, `value` and `traceparent`. */
export const ROW_PER_MESSAGE: OutboxRows = rowsWith(
  "outbox_leftovers_by_message",
  `concat_ws(' ', topic, traceparent) || E'\\n' || key || E'\\n' || value`,
);

/** $1: ids of rows to delete. */
export const DELETE_ROWS: Statement<never> = statement(
  "outbox_delete",
  `delete from outbox where id = any($1::bigint[])`,
);

/** Keeps the session of a transaction from being idle. */
export const KEEP_ALIVE: Statement<never> = statement("outbox_keep_alive", "select 1");

/** `messages`: the SQL expression for the messages of a row as text, in the form of `toLines`. */
function rowsWith(name: string, messages: string): OutboxRows {
  const leftovers: OutboxRows["leftovers"] = statement(
    name,
    `select id, messages
     from (
       select id, messages, row_number() over (order by id) as place, sum(octet_length(messages)) over (order by id) as bytes
       from (
         select id, ${messages} as messages from outbox
         where id > $4 and created_at < clock_timestamp() - $1 * interval '1 millisecond'
         order by id limit $2 for update skip locked
       ) found
     ) sized
     where place = 1 or bytes <= $3 order by id`,
  );
  return { leftovers };
}
