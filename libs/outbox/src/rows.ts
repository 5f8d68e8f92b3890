/** How rows of a table `outbox` hold messages. Each has `id` and `created_at`, and is deleted when it is published. */
import { type Statement, statement } from "@kapi/postgres";

export interface OutboxRows {
  /**
   * $1 age in ms, $2 limit of rows, $3 limit of bytes, which the first row may exceed. Rows that another poller has
   * locked are left to it.
   */
  readonly leftovers: Statement<{ id: number; messages: string }>;
}

/** A row holds all messages of a transaction, in the column `messages`. Its size is known without reading it. */
export const ROW_PER_TRANSACTION: OutboxRows = rowsWith("outbox_leftovers", "messages");

/** A row holds one message, in the columns `topic`, `key`, `value` and `traceparent`. */
export const ROW_PER_MESSAGE: OutboxRows = rowsWith(
  "outbox_leftovers_by_message",
  `concat_ws(' ', topic, traceparent) || E'\\n' || key || E'\\n' || value`,
);

export const DELETE_ROWS: Statement<never> = statement(
  "outbox_delete",
  `delete from outbox where id = any($1::bigint[])`,
);

/** `messages`: the SQL expression that gives the lines of a row. */
function rowsWith(name: string, messages: string): OutboxRows {
  const leftovers: OutboxRows["leftovers"] = statement(
    name,
    `select id, messages
     from (
       select id, messages, row_number() over (order by id) as place, sum(octet_length(messages)) over (order by id) as bytes
       from (
         select id, ${messages} as messages from outbox
         where created_at < clock_timestamp() - $1 * interval '1 millisecond'
         order by id limit $2 for update skip locked
       ) found
     ) sized
     where place = 1 or bytes <= $3 order by id`,
  );
  return { leftovers };
}
