import type { AuditEvent, Currency, ServerEntry } from "@kapi/contracts";
import type { Caller } from "@kapi/http";
import { canonicalJson, type Clock, toIso, uuidV7 } from "@kapi/kernel";
import { recordForAudit } from "@kapi/outbox";
import { type Database, type Queryable, statement } from "@kapi/postgres";

import type { ServerConfiguration } from "../../domain/account.ts";
import type { ConfigureServer, ServerRepository } from "../../domain/ports.ts";

interface ServerRow {
  readonly server_id: string;
  readonly organization_id: string;
  readonly status: ServerEntry["status"];
  readonly server_name: string;
  readonly company_name: string;
  readonly currency: Currency;
  readonly environment: "demo" | "real";
  readonly supported_leverage: number[];
  readonly default_leverage: number | null;
  readonly configuration_version: number;
  readonly configured_version: number;
}

/**
 * Maximum number of times that one call sends the configuration. It is sent again if another
 * process sent or changed it meanwhile. After the last round, a later call sends it again.
 */
const MAX_CONFIGURE_ROUNDS = 10;

const SERVER_COLUMNS = `server_id, organization_id, status, server_name, company_name, currency, environment,
  supported_leverage, default_leverage, configuration_version, configured_version`;

const SELECT_SERVER = statement<ServerRow>(
  "server-select",
  `select ${SERVER_COLUMNS} from servers where server_id = $1`,
);
// Organization and status always follow the directory. The configuration of an entry is used only
// when the server is inserted.
const SAVE_SERVER = statement(
  "server-save",
  `insert into servers (server_id, organization_id, directory_version, status, server_name, company_name, currency,
     environment, supported_leverage, default_leverage)
   values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
   on conflict (server_id) do update
     set organization_id = excluded.organization_id, directory_version = excluded.directory_version,
       status = excluded.status
     where servers.directory_version < excluded.directory_version`,
);
const LOCK_SERVER = statement<ServerRow>(
  "server-lock",
  `select ${SERVER_COLUMNS} from servers where server_id = $1 and status <> 'removed' for update`,
);
const RECONFIGURE_SERVER = statement(
  "server-reconfigure",
  `update servers set currency = $2, supported_leverage = $3, default_leverage = $4,
     configuration_version = configuration_version + 1
   where server_id = $1`,
);
// $1: only servers after this id; null: from the first one.
const SELECT_UNCONFIGURED = statement<{ server_id: string }>(
  "server-unconfigured",
  `select server_id from servers where configured_version < configuration_version and status <> 'removed'
     and ($1::uuid is null or server_id > $1)
   order by server_id limit 100`,
);
// $3: the recorded version before the send. If it has changed, another process sent the
// configuration meanwhile, and it is unknown which send arrived last.
const SAVE_CONFIGURED = statement(
  "server-configured",
  `update servers set configured_version = case when configured_version = $3 then $2 else 0 end where server_id = $1`,
);
const SAVE_UNCONFIGURED = statement(
  "server-not-configured",
  `update servers set configured_version = 0 where server_id = $1`,
);

/**
 * Servers in PostgreSQL: directory entries, configurations, and what was sent to trading servers.
 */
export function createServerRepository(database: Database, clock: Clock): ServerRepository {
  return {
    async save(entry) {
      const { configuration } = entry;
      await database.query(SAVE_SERVER, [
        entry.serverId,
        entry.organizationId,
        entry.version,
        entry.status,
        configuration.serverName,
        configuration.companyName,
        configuration.currency,
        configuration.environment,
        [...configuration.supportedLeverage].toSorted((a, b) => a - b),
        configuration.defaultLeverage,
      ]);
    },
    async unconfigured(after) {
      const rows = await database.query(SELECT_UNCONFIGURED, [after]);
      return rows.map((row) => row.server_id);
    },
    sendConfiguration: (serverId, configure) => sendConfiguration(database, serverId, configure),
    reconfigure: (serverId, change, by) =>
      database.transaction(async (tx) => {
        const [row] = await tx.query(LOCK_SERVER, [serverId]);
        if (row === undefined) return null;
        const now = fromRow(row);
        const { currency, supportedLeverage, defaultLeverage } = change(now);
        const next = { ...now, currency, supportedLeverage, defaultLeverage };
        if (canonicalJson(next) === canonicalJson(now)) return now;
        await tx.query(RECONFIGURE_SERVER, [serverId, currency, [...supportedLeverage], defaultLeverage]);
        recordForAudit(tx, auditEventOf(now, next, by, clock.nowMs()));
        return next;
      }),
  };
}

/** The audit entry of a changed configuration, with the changed fields. */
function auditEventOf(
  before: ServerConfiguration,
  after: ServerConfiguration,
  by: Caller | null,
  nowMs: number,
): AuditEvent {
  const { currency, supportedLeverage, defaultLeverage } = after;
  const fields = { currency, supportedLeverage, defaultLeverage };
  const changed = Object.entries(fields).filter(
    ([name, value]) => canonicalJson(value) !== canonicalJson(before[name as keyof typeof fields]),
  );
  return {
    eventId: uuidV7(nowMs),
    organizationId: after.organizationId,
    at: toIso(nowMs),
    action: "server.updated",
    actor: by?.actor ?? null,
    address: by?.address ?? null,
    subject: { type: "server", id: after.serverId },
    details: Object.fromEntries(changed),
  };
}

async function sendConfiguration(database: Database, serverId: string, configure: ConfigureServer): Promise<void> {
  for (let round = 1; round <= MAX_CONFIGURE_ROUNDS; round += 1) {
    const [row] = await database.query(SELECT_SERVER, [serverId]);
    if (row === undefined || row.status === "removed") return;
    if (row.configured_version >= row.configuration_version) return;
    try {
      await configure(fromRow(row));
    } catch (error) {
      // The failed send possibly arrived, even after the send of another process. So a later call
      // must send the configuration again.
      await database.query(SAVE_UNCONFIGURED, [serverId]);
      throw error;
    }
    await database.query(SAVE_CONFIGURED, [serverId, row.configuration_version, row.configured_version]);
  }
}

/** A server's configuration; null if the server is unknown. */
export async function selectServer(database: Queryable, serverId: string): Promise<ServerConfiguration | null> {
  const [row] = await database.query(SELECT_SERVER, [serverId]);
  return row === undefined ? null : fromRow(row);
}

function fromRow(row: ServerRow): ServerConfiguration {
  return {
    serverId: row.server_id,
    organizationId: row.organization_id,
    status: row.status,
    serverName: row.server_name,
    companyName: row.company_name,
    currency: row.currency,
    environment: row.environment,
    supportedLeverage: row.supported_leverage,
    defaultLeverage: row.default_leverage,
  };
}
