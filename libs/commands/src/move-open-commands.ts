/**
 * Moves open commands to the partitions of their keys after the command topic has grown (decisions,
 * 28). Otherwise an open command on the former partition of an account and a new command on the
 * present one could run at the same time.
 */
import type { TopicContract } from "@kapi/contracts";
import { assertGrown, type KafkaConnection, partitionOfKey } from "@kapi/kafka";
import type { Database, Queryable } from "@kapi/postgres";
import type { Logger } from "@kapi/runtime";

import { column } from "./columns.ts";
import { storedMessage } from "./decode.ts";
import { orderKeyOf } from "./entry.ts";
import { MAX_MOVED_ROWS } from "./limits.ts";
import {
  END_LEASES,
  LOCK_PARTITIONS,
  MOVE_OPEN,
  OPEN_PAGE,
  OPEN_PARTITIONS,
  type MovableRow,
  STORE_PARTITIONS,
} from "./statements.ts";

/** Before every row of a partition: the first page follows it. */
const BEFORE_ALL = { server_id: "00000000-0000-0000-0000-000000000000", log_offset: Number.MIN_SAFE_INTEGER };

/**
 * Must run before the consumer of `topic` starts. The first process that finds more partitions than
 * are stored moves the commands; other processes wait for its transaction.
 * @param partitions the present number of partitions of `topic`.
 * @throws if another tool than `kapi admin partitions grow` changed the number of partitions.
 */
export async function moveOpenCommands(
  { database, kafka, logger }: { database: Database; kafka: KafkaConnection; logger: Logger },
  topic: TopicContract,
  partitions: number,
): Promise<void> {
  const moved = await database.transaction(async (transaction) => {
    await transaction.query(STORE_PARTITIONS, [topic.name, 0]);
    const [stored] = await transaction.query(LOCK_PARTITIONS, [topic.name]);
    const before = stored?.partitions ?? 0;
    assertGrown(kafka, topic, before, partitions);
    if (before === partitions) return 0;
    const count = await moveAll(transaction, partitions);
    if (before > 0) await transaction.query(END_LEASES, [topic.name]);
    await transaction.query(STORE_PARTITIONS, [topic.name, partitions]);
    return count;
  });
  if (moved > 0) logger.info({ topic: topic.name, partitions, moved }, "open commands moved to other partitions");
}

async function moveAll(transaction: Queryable, partitions: number): Promise<number> {
  let moved = 0;
  for (const { partition } of await transaction.query(OPEN_PARTITIONS, [])) {
    let last: Pick<MovableRow, "server_id" | "log_offset"> | undefined = BEFORE_ALL;
    while (last !== undefined) {
      const after = [partition, last.server_id, last.log_offset];
      const rows: readonly MovableRow[] = await transaction.query(OPEN_PAGE, [...after, MAX_MOVED_ROWS]);
      moved += await moveRows(transaction, partition, rows, partitions);
      last = rows.at(-1);
    }
  }
  return moved;
}

async function moveRows(
  transaction: Queryable,
  partition: number,
  rows: readonly MovableRow[],
  partitions: number,
): Promise<number> {
  const moves = rows
    .map(({ command_id: id, message }) => {
      const key = orderKeyOf(storedMessage(JSON.parse(message)));
      return { id, to: partitionOfKey(key, partitions) };
    })
    .filter(({ to }) => to !== partition);
  if (moves.length > 0)
    await transaction.query(MOVE_OPEN, [column(moves.map(({ id }) => id)), column(moves.map(({ to }) => to))]);
  return moves.length;
}
