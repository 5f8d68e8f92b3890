import { assertDefined, retry } from "@kapi/kernel";
import { type Database, isTransient, statement } from "@kapi/postgres";

import type { JournalTail, Progress, StoredAccount, StoredServer, StoredState } from "./ports.ts";

/** Rows read at a time. */
const BATCH_ROWS = 1_000;
const CLAIM_RETRY_MS = 200;

/** Waits for running writes of the previous process. */
const UNTIL_WRITTEN = statement<Record<string, never>>(
  "trading_server_until_written",
  "lock table journal in share mode",
);
const CLAIM = statement<{ writer: number }>(
  "trading_server_claim",
  "update progress set writer = writer + 1 returning writer",
);

const SERVERS = statement<{ server_id: string; state: string }>(
  "trading_server_servers",
  "select server_id, state from servers",
);
const ACCOUNTS = statement<{ server_id: string; account_number: string; position: number; state: string }>(
  "trading_server_accounts",
  "select server_id, account_number, position, state from accounts",
);
const PROGRESS = statement<Progress>("trading_server_progress", "select checkpoint, published from progress");
const LAST_POSITION = statement<{ position: number }>(
  "trading_server_last_position",
  "select coalesce(max(position), 0) as position from journal",
);
const TAIL = statement<{ position: number; server_id: string; account_number: string; event: string }>(
  "trading_server_tail",
  "select position, server_id, account_number, event from journal where position > $1 and event is not null order by position",
);
const UNPUBLISHED_ACCOUNTS = statement<{ server_id: string; account_number: string }>(
  "trading_server_unpublished_accounts",
  "select distinct server_id, account_number from journal where position > $1 and event is not null",
);

/** Claims the journal, and reads the state that the previous process stored. */
export function createStoredState(database: Database): StoredState {
  return {
    claim: () => claim(database),
    progress: async () => (await database.query(PROGRESS, []))[0] ?? { checkpoint: 0, published: 0 },
    lastPosition: async () => (await database.query(LAST_POSITION, []))[0]?.position ?? 0,
    servers: async () => (await database.query(SERVERS, [])).map(serverFromRow),
    accounts: async function* () {
      for await (const rows of database.stream(ACCOUNTS, [], BATCH_ROWS)) yield rows.map(accountFromRow);
    },
    eventsAfter: async function* (position) {
      for await (const rows of database.stream(TAIL, [position], BATCH_ROWS)) yield rows.map(tailFromRow);
    },
    accountsWithEventsAfter: async (position) => {
      const rows = await database.query(UNPUBLISHED_ACCOUNTS, [position]);
      return rows.map((row) => ({ serverId: row.server_id, accountNumber: row.account_number }));
    },
  };
}

function claim(database: Database): Promise<number> {
  const attempt = (): Promise<number> =>
    database.transaction(async (tx) => {
      await tx.query(UNTIL_WRITTEN, []);
      const [row] = await tx.query(CLAIM, []);
      return assertDefined(row, "the row of progress").writer;
    });
  return retry(attempt, { backOff: { firstMs: CLAIM_RETRY_MS }, isRetryable: isTransient });
}

function serverFromRow(row: { server_id: string; state: string }): StoredServer {
  return { serverId: row.server_id, state: row.state };
}

function accountFromRow(row: {
  server_id: string;
  account_number: string;
  position: number;
  state: string;
}): StoredAccount {
  return { serverId: row.server_id, accountNumber: row.account_number, position: row.position, state: row.state };
}

function tailFromRow(row: { position: number; server_id: string; account_number: string; event: string }): JournalTail {
  return { position: row.position, serverId: row.server_id, accountNumber: row.account_number, event: row.event };
}
