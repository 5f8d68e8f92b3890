import type { TopicContract } from "@kapi/contracts";
import { type Queryable, statement } from "@kapi/postgres";

/** A message that was committed and not yet acknowledged by Kafka. */
export interface OutboxRow {
  readonly id: number;
  readonly topic: string;
  readonly key: string;
  readonly value: string;
}

const insertRow = statement<Record<string, never>>(
  "outbox_insert",
  `insert into outbox (topic, key, value) values ($1, $2, $3)`,
);
const selectRows = statement<OutboxRow>(
  "outbox_select",
  `select id, topic, key, value from outbox order by id limit $1`,
);
const deleteRows = statement<Record<string, never>>("outbox_delete", `delete from outbox where id = any($1::bigint[])`);

/** Writes a message beside the change that it tells of; it is published after the commit. */
export async function enqueue(tx: Queryable, topic: TopicContract, key: string, value: string): Promise<void> {
  await tx.query(insertRow, [topic.name, key, value]);
}

/** The oldest messages, at most `limit`. */
export function readOutbox(database: Queryable, limit: number): Promise<OutboxRow[]> {
  return database.query(selectRows, [limit]);
}

/** Removes messages that Kafka acknowledged. */
export async function deleteFromOutbox(database: Queryable, ids: readonly number[]): Promise<void> {
  await database.query(deleteRows, [ids]);
}
