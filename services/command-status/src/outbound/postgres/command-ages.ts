import type { CommandStatus } from "@kapi/contracts";
import { type Database, statement } from "@kapi/postgres";

/** The commands in one state that is not final. */
export interface OpenState {
  readonly status: CommandStatus;
  readonly commands: number;
  /** How long ago the oldest of them was accepted, in seconds. */
  readonly oldest_seconds: number;
}

// By the index of open commands, which is small: what is final is not in it.
const OPEN_STATES = statement<OpenState>(
  "open_states",
  `select status, count(*)::integer as commands,
     extract(epoch from clock_timestamp() - min(coalesce(created_at, updated_at)))::float8 as oldest_seconds
   from commands_by_month where status in ('queued', 'leased') group by status`,
);
const OPEN = ["queued", "leased"] as const;
/** Asked for twice within so many milliseconds, it is read once. */
const SHARED_MS = 1_000;

/**
 * Makes the reader of how many commands are open and how old the oldest is, of every state that is
 * not final.
 */
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
