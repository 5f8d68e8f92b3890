import type { CommandStatus } from "@kapi/contracts";
import { type Database, statement } from "@kapi/postgres";

import type { WaitingCommands } from "../../domain/ports.ts";

/** The number and age of the commands in one state that is not final. */
export interface OpenState {
  readonly status: CommandStatus;
  readonly commands: number;
  /**
   * Time since the oldest of these commands was accepted, in seconds. If the message of a command
   * has not arrived: time since its newest event. A command that closes positions is left out once
   * its first attempt has begun: it may wait for a market to open (decisions, 15.8). 0 if no
   * command remains.
   */
  readonly oldest_seconds: number;
}

// Uses the index of open commands, which is small because final commands are not in it.
const OPEN_STATES = statement<OpenState>(
  "open_states",
  `select status, count(*)::integer as commands,
     coalesce(extract(epoch from clock_timestamp() - min(coalesce(created_at, updated_at)) filter (where (
       attempts > 0 and (operation = 'account.flatten' or operation = 'account.disable' and payload ->> 'flatten' = 'true')
     ) is not true)), 0)::float8 as oldest_seconds
   from commands_by_month where status in ('queued', 'leased') group by status`,
);
// Reads the same index, for one organization.
const WAITING = statement<WaitingRow>(
  "waiting_commands",
  `select server_id, count(*)::integer as waiting, min(created_at) as oldest
   from commands_by_month where organization_id = $1 and status in ('queued', 'leased')
   group by server_id order by server_id`,
);
interface WaitingRow {
  readonly server_id: string;
  readonly waiting: number;
  readonly oldest: Date | null;
}
const OPEN = ["queued", "leased"] as const;
/**
 * The metrics of the number and of the age are read at the same time; within this period they share
 * one query.
 */
const SHARED_MS = 1_000;

/** Creates a function that reads the {@link OpenState} of every state that is not final. */
export function createCommandAges(database: Database, nowMs: () => number): () => Promise<readonly OpenState[]> {
  let readAtMs = Number.NEGATIVE_INFINITY;
  let reading: Promise<readonly OpenState[]> = Promise.resolve([]);
  return () => {
    if (nowMs() - readAtMs >= SHARED_MS) {
      readAtMs = nowMs();
      reading = database.query(OPEN_STATES, []).then((rows) => {
        const found = new Map(rows.map((row) => [row.status, row]));
        return OPEN.map((status) => found.get(status) ?? { status, commands: 0, oldest_seconds: 0 });
      });
    }
    return reading;
  };
}

/** Counts an organization's commands that are not final, by server. */
export async function countWaitingCommands(database: Database, organizationId: string): Promise<WaitingCommands[]> {
  const rows = await database.query(WAITING, [organizationId]);
  return rows.map(({ server_id: serverId, waiting, oldest }) => ({
    serverId,
    waiting,
    oldestCreatedAt: oldest?.toISOString() ?? null,
  }));
}
