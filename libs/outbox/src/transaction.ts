import { type Database, statement } from "@kapi/postgres";

import { linesOf } from "./lines.ts";
import type { OutboxMessage, OutboxTransaction } from "./message.ts";
import type { Outbox } from "./outbox.ts";

const INSERT = statement<{ id: number }>(
  "outbox_insert",
  `insert into outbox (topic, key, value, traceparent)
   select * from unnest($1::text[], $2::text[], $3::text[], $4::text[]) returning id`,
);

/**
 * Runs `work` in a transaction of `database`. The messages that `work` enqueues are committed in
 * the same transaction, one per row (`ROW_PER_MESSAGE`). Returns the result of `work` after the
 * commit, without waiting for the messages to be published.
 */
export async function transactionWithOutbox<T>(
  database: Database,
  outbox: Pick<Outbox, "publish">,
  work: (tx: OutboxTransaction) => Promise<T>,
): Promise<T> {
  const messages: OutboxMessage[] = [];
  const { value, written } = await database.transaction(async (transaction) => {
    const done = await work({
      query: (sql, values) => transaction.query(sql, values),
      execute: (sql, values) => transaction.execute(sql, values),
      enqueue: (more) => {
        // The poller could not read a row with a line break in its key or value.
        more.forEach(linesOf);
        messages.push(...more);
      },
    });
    const rows = messages.length === 0 ? Promise.resolve([]) : transaction.query(INSERT, columnsOf(messages));
    // Not awaited, so that the commit is sent at once. If the insert fails, the commit fails.
    rows.catch(() => undefined);
    return { value: done, written: rows };
  });
  const ids = (await written).map(({ id }) => id);
  if (ids.length > 0) void outbox.publish(ids, messages);
  return value;
}

function columnsOf(messages: readonly OutboxMessage[]): unknown[] {
  return [
    messages.map(({ topic }) => topic.name),
    messages.map(({ key }) => key),
    messages.map(({ value }) => value),
    messages.map(({ traceparent }) => traceparent ?? null),
  ];
}
