/** Internal reads of accounts and servers, for other services. */
import { Readable } from "node:stream";

import { ACCOUNT_ROUTES, DEFAULT_PAGE_LIMIT, isPaged } from "@kapi/contracts";
import { ApiError, type FastifyInstance, sendStream, serve, serveRaw } from "@kapi/http";

import type { ServerConfiguration } from "../../domain/account.ts";
import type { AccountReader, Quotes } from "../../domain/ports.ts";
import type { TradingServerChecks } from "../../operations/check-trading-servers.ts";
import { getServerConfiguration } from "../../operations/get-server-configuration.ts";
import { type AccountDetailsDependencies, getTradingAccount } from "../../operations/get-trading-account.ts";
import { readAccountForRisk } from "../../operations/read-account-for-risk.ts";
import { readQuotes } from "../../operations/read-quotes.ts";
import {
  pageOfTradingAccounts,
  readAccountRecords,
  streamTradingAccounts,
} from "../../operations/list-trading-accounts.ts";
import { serverOverviews } from "../../operations/server-overviews.ts";

const JSON_TYPE = "application/json; charset=utf-8";

interface AccountRouteDependencies extends AccountDetailsDependencies {
  readonly quotes: Quotes;
  readonly serverChecks: TradingServerChecks;
}

/**
 * Registers the reads. An unknown server or account of the path is 404. Only the two reads of
 * selected accounts answer 200 for an unknown server, with 0 or an empty list. The answer to a
 * batch has an entry for each item, also for an unknown one.
 */
export function registerAccountRoutes(app: FastifyInstance, dependencies: AccountRouteDependencies): void {
  serve(app, ACCOUNT_ROUTES.getServerConfiguration, async ({ params }) => {
    const server = await getServerConfiguration(dependencies.reader, params.serverId);
    if (server === null) throw new ApiError("SERVER_NOT_FOUND");
    return { server };
  });
  serveRaw(app, ACCOUNT_ROUTES.listTradingAccounts, async ({ params, query }, _request, reply) => {
    const server = await knownServer(dependencies.reader, params.serverId);
    void reply.type(JSON_TYPE);
    if (!isPaged(query)) {
      return sendStream(
        reply,
        Readable.from(streamTradingAccounts(dependencies, server, query), { objectMode: false }),
      );
    }
    const page = { ...query, limit: query.limit ?? DEFAULT_PAGE_LIMIT };
    return reply.send(await pageOfTradingAccounts(dependencies, server, page));
  });
  serve(app, ACCOUNT_ROUTES.getTradingAccount, async ({ params: { serverId, accountNumber } }) => {
    const details = await getTradingAccount(dependencies, serverId, accountNumber);
    if (details === null) throw new ApiError("ACCOUNT_NOT_FOUND");
    return details;
  });
  serve(app, ACCOUNT_ROUTES.readAccountForRisk, async ({ params, query }) => {
    const account = await readAccountForRisk(dependencies, params, query);
    if (account === null) throw new ApiError("ACCOUNT_NOT_FOUND");
    return account;
  });
  serve(app, ACCOUNT_ROUTES.readQuotes, async ({ params: { serverId }, query }) => {
    const quotes = await readQuotes(dependencies, serverId, query);
    if (quotes === null) throw new ApiError("SERVER_NOT_FOUND");
    return quotes;
  });
  serve(app, ACCOUNT_ROUTES.countSelectedAccounts, async ({ params: { serverId }, body: { selection } }) => ({
    accounts: await dependencies.reader.countSelected(serverId, selection),
  }));
  serve(app, ACCOUNT_ROUTES.listSelectedAccounts, async ({ params: { serverId }, body }) => ({
    accountNumbers: await dependencies.reader.selected(serverId, body.selection, body.after, body.limit),
  }));
  serve(app, ACCOUNT_ROUTES.readServerOverviews, async ({ body: { serverIds } }) => ({
    servers: await serverOverviews(dependencies.reader, serverIds),
  }));
  serve(app, ACCOUNT_ROUTES.readAccountRecords, async ({ params: { serverId }, body: { accountNumbers } }) => {
    const server = await knownServer(dependencies.reader, serverId);
    return { accounts: await readAccountRecords(dependencies, server, accountNumbers) };
  });
  serve(app, ACCOUNT_ROUTES.describeAccounts, async ({ body: { accounts } }) => {
    const described = accounts.length === 0 ? [] : await dependencies.reader.descriptions(accounts);
    return {
      accounts: described.map((one) =>
        one === null ? null : { accountName: one.accountName, createdAt: one.createdAt.toISOString() },
      ),
    };
  });
  serve(app, ACCOUNT_ROUTES.checkTradingServers, async ({ body: { serverIds } }) => ({
    servers: await dependencies.serverChecks.check(serverIds),
  }));
  serve(app, ACCOUNT_ROUTES.countAccountsByState, async ({ body: { serverIds } }) => ({
    servers: await dependencies.reader.counts(serverIds),
  }));
  serve(app, ACCOUNT_ROUTES.findExistingAccounts, async ({ body: { accounts } }) => {
    const ids = accounts.length === 0 ? [] : await dependencies.reader.ids(accounts);
    return { existing: ids.map((id) => id !== null), ids };
  });
}

async function knownServer(reader: AccountReader, serverId: string): Promise<ServerConfiguration> {
  const server = await reader.server(serverId);
  if (server === null) throw new ApiError("SERVER_NOT_FOUND");
  return server;
}
