/** The internal reads of the account service, as the gateway and the metrics service call them. */
import { Readable } from "node:stream";
import { AccountNumber, Guid, isPaged, ListTradingAccountsQuery } from "@kapi/contracts";
import { ApiError, type FastifyInstance, parse, sendStream } from "@kapi/http";
import { z } from "zod";

import type { ServerConfiguration } from "../../domain/account.ts";
import type { AccountReader } from "../../domain/ports.ts";
import { getServerConfiguration } from "../../operations/get-server-configuration.ts";
import { type AccountDetailsSources, getTradingAccount } from "../../operations/get-trading-account.ts";
import { pageOfTradingAccounts, streamTradingAccounts } from "../../operations/list-trading-accounts.ts";
import { serverOverviews } from "../../operations/server-overviews.ts";

/** Most accounts in one question whether they exist. */
const MAX_EXISTING = 1_000;
/** Most servers in one question for their overviews. */
const MAX_OVERVIEWS = 100;
const DEFAULT_LIMIT = 20;
const JSON_TYPE = "application/json; charset=utf-8";

const ServerPath = z.object({ serverId: Guid });
const AccountPath = ServerPath.extend({ accountNumber: AccountNumber });
const OverviewBody = z.object({ serverIds: z.array(Guid).max(MAX_OVERVIEWS) });
const ExistingBody = z.object({
  accounts: z.array(z.object({ serverId: Guid, accountNumber: z.string().max(32) })).max(MAX_EXISTING),
});

/** Registers the routes; all of them are below /internal. */
export function registerRoutes(app: FastifyInstance, sources: AccountDetailsSources): void {
  app.get("/internal/servers/:serverId/configuration", async (request) => {
    const { serverId } = parse(ServerPath, request.params);
    const server = await getServerConfiguration(sources.reader, serverId);
    if (server === null) throw new ApiError("SERVER_NOT_FOUND");
    return { server };
  });
  app.get("/internal/servers/:serverId/accounts", async (request, reply) => {
    const { serverId } = parse(ServerPath, request.params);
    const query = parse(ListTradingAccountsQuery, request.query);
    const server = await knownServer(sources.reader, serverId);
    void reply.type(JSON_TYPE);
    if (!isPaged(query)) {
      return sendStream(reply, Readable.from(streamTradingAccounts(sources, server, query), { objectMode: false }));
    }
    const page = { ...query, page: query.page ?? 1, limit: query.limit ?? DEFAULT_LIMIT };
    return reply.send(await pageOfTradingAccounts(sources, server, page));
  });
  app.get("/internal/servers/:serverId/accounts/:accountNumber", async (request) => {
    const { serverId, accountNumber } = parse(AccountPath, request.params);
    const details = await getTradingAccount(sources, serverId, accountNumber);
    if (details === null) throw new ApiError("ACCOUNT_NOT_FOUND");
    return details;
  });
  app.post("/internal/servers/overview", async (request) => {
    const { serverIds } = parse(OverviewBody, request.body);
    return { servers: await serverOverviews(sources.reader, serverIds) };
  });
  app.post("/internal/accounts/existing", async (request) => {
    const { accounts } = parse(ExistingBody, request.body);
    const ids = accounts.length === 0 ? [] : await sources.reader.ids(accounts);
    return { existing: ids.map((id) => id !== null), ids };
  });
}

async function knownServer(reader: AccountReader, serverId: string): Promise<ServerConfiguration> {
  const server = await reader.server(serverId);
  if (server === null) throw new ApiError("SERVER_NOT_FOUND");
  return server;
}
