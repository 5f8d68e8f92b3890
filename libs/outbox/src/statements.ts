import { type Statement, statement } from "@kapi/postgres";

export const DELETE_ROWS: Statement<never> = statement(
  "outbox_delete",
  `delete from outbox where id = any($1::bigint[])`,
);

/**
 * $1 age in ms, $2 limit of rows, $3 limit of bytes, which the first row may exceed. Rows that another poller has locked
 * are left to it. The size of a row is known without reading it.
 */
export const LEFTOVERS: Statement<{ id: number; messages: string }> = statement(
  "outbox_leftovers",
  `select id, messages
   from (
     select id, messages, row_number() over (order by id) as place, sum(octet_length(messages)) over (order by id) as bytes
     from (
       select id, messages from outbox
       where created_at < clock_timestamp() - $1 * interval '1 millisecond'
       order by id limit $2 for update skip locked
     ) found
   ) sized
   where place = 1 or bytes <= $3 order by id`,
);
