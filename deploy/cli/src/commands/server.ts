import { type Currency, ORGANIZATION_ROUTES, type ServerEntry, type ShownServer } from "@kapi/contracts";
import type { Command } from "commander";

import { addCommand, type CommandContext, several, type PrintOptions, wholeNumber } from "../context.ts";
import { type Column, fields, table } from "../output.ts";

const DEFAULT_LEVERAGES = ["1", "2", "5", "10", "20", "25", "30", "50", "100", "200", "300", "400", "500"];

interface ListOptions extends PrintOptions {
  readonly organization?: string;
}
interface CreateOptions extends PrintOptions {
  readonly organization: string;
  readonly url: string;
  readonly name: string;
  readonly company: string;
  /** Unchecked: the service rejects an unknown currency or environment. */
  readonly currency: Currency;
  readonly environment: ServerEntry["configuration"]["environment"];
  readonly leverage?: readonly string[];
  readonly defaultLeverage?: number;
  readonly server?: string;
  readonly tokenStdin?: true;
}

const COLUMNS: readonly Column<ShownServer>[] = [
  { heading: "SERVER", of: (row) => row.serverId },
  { heading: "NAME", of: (row) => row.configuration.serverName },
  { heading: "STATUS", of: (row) => row.status },
  { heading: "CURRENCY", of: (row) => row.configuration.currency },
  { heading: "ENVIRONMENT", of: (row) => row.configuration.environment },
  { heading: "TRADING SERVER", of: (row) => row.tradingServerUrl },
];

/** `kapi admin server create|list` */
export function addServer(program: Command, context: CommandContext): void {
  const server = program.command("server").description("Trading servers of organizations");
  addCommand(server, "create", "Register a trading server, or change a registered one")
    .requiredOption("--organization <id>", "the organization")
    .requiredOption("--url <address>", "where the trading server is reached")
    .requiredOption("--name <name>", "the server's name")
    .requiredOption("--company <name>", "the company that runs the server")
    .option("--currency <code>", "USD or NGN", "USD")
    .option("--environment <kind>", "demo or real", "demo")
    .option(
      "--leverage <list>",
      `leverages that accounts of the server can have, separated by commas (default: ${DEFAULT_LEVERAGES.join(",")})`,
      several,
    )
    .option("--default-leverage <number>", "leverage that is proposed for a new account", wholeNumber(1))
    .option(
      "--server <id>",
      "id of the server: changes the server that has this id, or registers a new server with this id; in a change, an option that is not given gets its default",
    )
    .option(
      "--token-stdin",
      "read the token for calls to the server from standard input; without it, a server at an unchanged address keeps its token",
    )
    .action((options: CreateOptions) => create(context, options));
  addCommand(server, "list", "List servers, oldest first")
    .option("--organization <id>", "only servers of this organization (default: all)")
    .action((options: ListOptions) => list(context, options));
}

async function create(context: CommandContext, options: CreateOptions): Promise<void> {
  const { organization, url, name, company, currency, environment, defaultLeverage, server } = options;
  const token = options.tokenStdin === true ? { tradingServerToken: await context.readLine() } : {};
  const body = {
    ...token,
    ...(server === undefined ? {} : { serverId: server }),
    tradingServerUrl: url,
    configuration: {
      serverName: name,
      companyName: company,
      currency,
      environment,
      supportedLeverage: (options.leverage ?? DEFAULT_LEVERAGES).map(Number),
      defaultLeverage: defaultLeverage ?? null,
    },
  };
  const params = { organizationId: organization };
  const created = await context.operator("organization").call(ORGANIZATION_ROUTES.registerServer, { params, body });
  context.print(options, created, ({ serverId }) => fields({ server: serverId, name, url }));
}

async function list(context: CommandContext, { organization, ...options }: ListOptions): Promise<void> {
  const operator = context.operator("organization");
  const { listServers, listAllServers } = ORGANIZATION_ROUTES;
  if (organization === undefined) {
    const servers = await operator.list(listAllServers, {}, (page) => page.servers);
    context.print(options, servers, (rows) =>
      table(rows, [...COLUMNS, { heading: "ORGANIZATION", of: (row) => row.organizationId }]),
    );
    return;
  }
  const params = { organizationId: organization };
  const servers = await operator.list(listServers, params, (page) => page.servers);
  context.print(options, servers, (rows) => table(rows, COLUMNS));
}
