import type { AccountMetricSnapshot, Command, Server, UpdateServerConfiguration } from "../generated/api.ts";
import { pathOf, type Transport } from "../http/transport.ts";
import type { List } from "../list.ts";
import { AccountResource } from "./account.ts";
import { AccountsResource } from "./accounts.ts";
import type { CommandFilter, CommandsResource } from "./commands.ts";
import { RiskTemplatesResource } from "./risk-templates.ts";

export interface SnapshotFilter {
  readonly accountNumber?: string | undefined;
  /** Snapshots measured at or after this time. */
  readonly since?: Date | string | undefined;
  /** Snapshots measured before this time. */
  readonly until?: Date | string | undefined;
  /** Maximum number of snapshots, 1 to 1,000; default 100. */
  readonly limit?: number | undefined;
}

/** One trading server: `kapi.server(id)`. */
export class ServerResource {
  readonly id: string;
  readonly accounts: AccountsResource;
  readonly riskTemplates: RiskTemplatesResource;
  readonly #transport: Transport;
  readonly #commands: CommandsResource;

  constructor(transport: Transport, commands: CommandsResource, id: string) {
    this.#transport = transport;
    this.#commands = commands;
    this.id = id;
    this.accounts = new AccountsResource(transport, commands, id);
    this.riskTemplates = new RiskTemplatesResource(transport, commands, id);
  }

  /** One account of the server. */
  account(accountNumber: string): AccountResource {
    return new AccountResource(this.#transport, this.#commands, this.id, accountNumber);
  }

  /** The commands of the server, newest first. */
  commands(filter: CommandFilter = {}): List<Command> {
    return this.#commands.list(this.id, filter);
  }

  async configuration(): Promise<Server> {
    const path = this.#path("configuration");
    return (await this.#transport.request<{ server: Server }>({ method: "GET", path })).body.server;
  }

  /** Changes leverages and currency, within the request; missing fields are unchanged. */
  async updateConfiguration(changes: UpdateServerConfiguration): Promise<Server> {
    const path = this.#path("configuration");
    return (await this.#transport.request<{ server: Server }>({ method: "PATCH", path, body: changes })).body.server;
  }

  /** Stored snapshots, newest first: one per account and minute in which the account changed. */
  async snapshots(filter: SnapshotFilter = {}): Promise<readonly AccountMetricSnapshot[]> {
    const { body } = await this.#transport.request<{ snapshots: AccountMetricSnapshot[] }>({
      method: "GET",
      path: this.#path("account-metrics"),
      query: { ...filter },
    });
    return body.snapshots;
  }

  #path(...segments: readonly string[]): string {
    return pathOf("servers", this.id, ...segments);
  }
}
