import type { TopicContract } from "@kapi/contracts";
import { type Queryable, statement, type Transaction } from "@kapi/postgres";
import { activeTraceparent } from "@kapi/runtime";

/** A message that was committed and not yet acknowledged by Kafka. */
export interface OutboxRow {
  readonly id: number;
  readonly topic: string;
  readonly key: string;
  readonly value: string;
  /** The span that it is sent beneath. */
  readonly traceparent: string | null;
}

const insertRow = statement<Record<string, never>>(
  "outbox_insert",
  `insert into outbox (topic, key, value, traceparent) values ($1, $2, $3, $4)`,
);
const selectRows = statement<OutboxRow>(
  "outbox_select",
  `select id, topic, key, value, traceparent from outbox order by id limit $1`,
);
const deleteRows = statement<Record<string, never>>("outbox_delete", `delete from outbox where id = any($1::bigint[])`);

/** How long ago the oldest row was written, in seconds; none where there is no row. */
const selectAge = statement<{ seconds: number }>(
  "outbox_age",
  `select extract(epoch from clock_timestamp() - created_at)::float8 as seconds from outbox order by id limit 1`,
);

/** Writes a message beside the change that it tells of; it is published after the commit, in the trace of the change. */
export function enqueue(tx: Transaction, topic: TopicContract, key: string, value: string): void {
  tx.execute(insertRow, [topic.name, key, value, activeTraceparent() ?? null]);
}

/** The oldest messages, at most `limit`. */
export function readOutbox(database: Queryable, limit: number): Promise<OutboxRow[]> {
  return database.query(selectRows, [limit]);
}

/** How long the oldest message waits to be published, in seconds; 0: none does. */
export async function outboxAge(database: Queryable): Promise<number> {
  return (await database.query(selectAge, []))[0]?.seconds ?? 0;
}

/** Removes messages that Kafka acknowledged. */
export async function deleteFromOutbox(database: Queryable, ids: readonly number[]): Promise<void> {
  await database.query(deleteRows, [ids]);
}
