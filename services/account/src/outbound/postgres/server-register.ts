import type { Currency, ServerEntry } from "@kapi/contracts";
import { type Database, type Queryable, statement } from "@kapi/postgres";

import type { ServerConfiguration } from "../../domain/account.ts";
import type { ServerRegister } from "../../domain/ports.ts";

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
}

const SERVER_COLUMNS = `server_id, organization_id, status, server_name, company_name, currency, environment,
  supported_leverage, default_leverage, configuration_version`;

const SELECT_SERVER = statement<ServerRow>(
  "server-select",
  `select ${SERVER_COLUMNS} from servers where server_id = $1`,
);
// The directory decides about owner and status; the configuration in it is only a server's first.
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
const SELECT_UNCONFIGURED = statement<ServerRow>(
  "server-unconfigured",
  `select ${SERVER_COLUMNS} from servers where configured_version < configuration_version and status <> 'removed'
   order by server_id limit 100`,
);
const SAVE_CONFIGURED = statement(
  "server-configured",
  `update servers set configured_version = greatest(configured_version, $2) where server_id = $1`,
);

/** Keeps what the directory tells of servers, and what their trading servers were told. */
export function createServerRegister(database: Database): ServerRegister {
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
    async unconfigured() {
      const rows = await database.query(SELECT_UNCONFIGURED, []);
      return rows.map((row) => ({
        configuration: fromRow(row),
        configurationVersion: row.configuration_version,
      }));
    },
    async configured(serverId, configurationVersion) {
      await database.query(SAVE_CONFIGURED, [serverId, configurationVersion]);
    },
  };
}

/** A server's configuration, or null where none is known. */
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
