import type { ServerEntry } from "@kapi/contracts";
import { type SealedPassword, toIso } from "@kapi/kernel";
import type { OutboxTransaction } from "@kapi/outbox";
import { type Database, type Queryable, statement } from "@kapi/postgres";

import type { DirectoryStore, DirectoryTransaction } from "../../../domain/directory/ports.ts";
import { announce } from "./announce.ts";
import { readPage } from "./pages.ts";

const ROWS_PER_READ = 500;

interface ServerRow extends Omit<ServerEntry, "kind" | "sealedToken"> {
  readonly sealedToken: SealedPassword | null;
}

const ROW = `server_id as "serverId", organization_id as "organizationId", status,
  trading_server_url as "tradingServerUrl", configuration, version, sealed_token as "sealedToken"`;

const INSERT_SERVER_ROW = statement<ServerRow>(
  "directory_insert_server",
  `insert into servers (server_id, organization_id, trading_server_url, configuration, sealed_token, created_at, status,
     version)
   values ($1, $2, $3, $4, $5, $6, 'active', 1)
   on conflict (server_id) do nothing returning ${ROW}`,
);
const LOCK_SERVER_ROW = statement<ServerRow>(
  "directory_lock_server",
  `select ${ROW} from servers where server_id = $1 for update`,
);
// A server id never moves to another organization. Without a new token, the server keeps its token
// only if its URL stays the same.
const UPDATE_SERVER_ROW = statement<ServerRow>(
  "directory_update_server",
  `update servers
   set trading_server_url = $3, configuration = $4, version = version + 1,
     sealed_token = coalesce($5, case when trading_server_url = $3 then sealed_token end)
   where server_id = $1 and organization_id = $2
   returning ${ROW}`,
);
// An unchanged status is not announced.
const SET_SERVER_STATUS_ROW = statement<ServerRow>(
  "directory_set_server_status",
  `update servers set status = $3, version = version + 1
   where server_id = $1 and organization_id = $2 and status <> 'removed' and status <> $3 returning ${ROW}`,
);
const SELECT_SERVER_OF = statement<ServerRow>(
  "directory_select_server_of",
  `select ${ROW} from servers where server_id = $1 and organization_id = $2 and status <> 'removed'`,
);
const SERVERS_OF_ORGANIZATION = {
  select: statement<ServerRow>(
    "directory_select_servers_of",
    `select ${ROW} from servers where organization_id = $1 and status <> 'removed'
     order by created_at, server_id limit $2 offset $3`,
  ),
  count: statement<{ total: number }>(
    "directory_count_servers_of",
    `select count(*) as total from servers where organization_id = $1 and status <> 'removed'`,
  ),
  from: serverOf,
};
// No index has this order: servers are so few that every gateway process keeps all in memory.
const SERVERS_OF_ALL = {
  select: statement<ServerRow>(
    "directory_select_all_servers",
    `select ${ROW} from servers where status <> 'removed' order by created_at, server_id limit $1 offset $2`,
  ),
  count: statement<{ total: number }>(
    "directory_count_all_servers",
    `select count(*) as total from servers where status <> 'removed'`,
  ),
  from: serverOf,
};
const SELECT_SERVER_ROWS = statement<ServerRow>("directory_select_servers", `select ${ROW} from servers`);

/** Reads of servers, without their tokens. */
export function serverStore(
  database: Queryable,
): Pick<DirectoryStore, "readServers" | "readAllServers" | "readServer"> {
  return {
    readServers: (organizationId, page) => readPage(database, SERVERS_OF_ORGANIZATION, [organizationId], page),
    readAllServers: (page) => readPage(database, SERVERS_OF_ALL, [], page),
    readServer: async (organizationId, serverId) => {
      const [row] = await database.query(SELECT_SERVER_OF, [serverId, organizationId]);
      return row ? serverOf(row) : null;
    },
  };
}

/** The servers' part of a transaction; each change is announced through the outbox. */
export function serverTransaction(
  tx: OutboxTransaction,
): Pick<DirectoryTransaction, "setServerStatus" | "upsertServer"> {
  return {
    setServerStatus: async (organizationId, serverId, status) => {
      const [row] = await tx.query(SET_SERVER_STATUS_ROW, [serverId, organizationId, status]);
      if (row) announce(tx, serverEntryOf(row));
      return row !== undefined;
    },
    upsertServer: async ({ serverId, organizationId, tradingServerUrl, configuration, sealedToken }, nowMs) => {
      const sealed = sealedToken === undefined ? null : JSON.stringify(sealedToken);
      const values = [serverId, organizationId, tradingServerUrl, JSON.stringify(configuration), sealed];
      // First, because this statement waits for a process that registers the same server: then
      // `before` is what that process has stored.
      const [created] = await tx.query(INSERT_SERVER_ROW, [...values, toIso(nowMs)]);
      const [before] = created === undefined ? await tx.query(LOCK_SERVER_ROW, [serverId]) : [];
      const [row] = created === undefined ? await tx.query(UPDATE_SERVER_ROW, values) : [created];
      if (!row) return null;
      announce(tx, serverEntryOf(row));
      return { server: serverOf(row), before: before === undefined ? null : serverEntryOf(before) };
    },
  };
}

/** All servers with their sealed tokens, {@link ROWS_PER_READ} at a time. */
export async function* readServerEntries(database: Database): AsyncGenerator<ServerEntry[]> {
  for await (const rows of database.stream(SELECT_SERVER_ROWS, [], ROWS_PER_READ)) yield rows.map(serverEntryOf);
}

/** The entry with the sealed token, if the server has one. */
function serverEntryOf(row: ServerRow): ServerEntry {
  return { ...serverOf(row), ...(row.sealedToken === null ? {} : { sealedToken: row.sealedToken }) };
}

/** The entry without the token. */
function serverOf({ sealedToken: _token, ...row }: ServerRow): ServerEntry {
  return { kind: "server", ...row };
}
