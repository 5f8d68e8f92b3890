import { type Issue, Server } from "@kapi/contracts";
import { callerHeaders, type InternalClient, tooManyConcurrentRequests, unexpected, withQuery } from "@kapi/http";
import { z } from "zod";

import type { Accounts, ServerOverview } from "../../domain/console-ports.ts";

/** Most servers of one question. */
const MAX_SERVERS_PER_CALL = 100;
/** A change is made on the trading server too, before it is answered. */
const CHANGE_TIMEOUT_MS = 10_000;
/** A question; twice does no more than once. */
const REPEATABLE = { repeatable: true };
const OK = 200;
const BAD_REQUEST = 400;
const NOT_FOUND = 404;
const TOO_MANY_REQUESTS = 429;

const OverviewsAnswer = z.object({
  servers: z.array(z.object({ server: Server, accountCount: z.int().min(0) }).nullable()),
});
const ExistingAnswer = z.object({ existing: z.array(z.boolean()) });
const RefusedAnswer = z.object({
  issues: z.array(
    z.object({ path: z.array(z.union([z.string(), z.number()])), code: z.string(), message: z.string() }),
  ) satisfies z.ZodType<Issue[]>,
});

/** The account service over internal HTTP. */
export function accountsOver(client: InternalClient): Accounts {
  return {
    overviews: async (serverIds) => {
      const found: (ServerOverview | null)[] = [];
      for (let from = 0; from < serverIds.length; from += MAX_SERVERS_PER_CALL) {
        const body = { serverIds: serverIds.slice(from, from + MAX_SERVERS_PER_CALL) };
        const { servers } = await client.json("POST", "/internal/servers/overview", body, OverviewsAnswer, REPEATABLE);
        found.push(...servers.map((one) => (one === null ? null : overviewOf(one.server, one.accountCount))));
      }
      return found;
    },
    changeConfiguration: async (serverId, change, by) => {
      const path = `/internal/servers/${serverId}/configuration`;
      const { status, body } = await client.request("PATCH", path, change, {
        timeoutMs: CHANGE_TIMEOUT_MS,
        headers: callerHeaders(by),
      });
      if (status === OK) return null;
      const refused = status === BAD_REQUEST ? RefusedAnswer.safeParse(JSON.parse(body.toString("utf8"))) : null;
      if (refused?.success) return refused.data.issues;
      throw unexpected(path, status);
    },
    list: (serverId, query) => bytesOf(client, withQuery(`/internal/servers/${serverId}/accounts`, query)),
    details: (serverId, accountNumber) => bytesOf(client, `/internal/servers/${serverId}/accounts/${accountNumber}`),
    existing: async (accounts) =>
      (await client.json("POST", "/internal/accounts/existing", { accounts }, ExistingAnswer, REPEATABLE)).existing,
  };
}

function overviewOf(server: Server, accountCount: number): ServerOverview {
  const { serverId, status: _notItsOwn, ...configuration } = server;
  return { serverId, configuration, accountCount };
}

/**
 * The exact body of an answer, or null where it is 404.
 * @throws ApiError TOO_MANY_CONCURRENT_REQUESTS where the organization has its share there
 */
async function bytesOf(client: InternalClient, path: string): Promise<Buffer | null> {
  const { status, body } = await client.request("GET", path);
  if (status === OK) return body;
  if (status === NOT_FOUND) return null;
  if (status === TOO_MANY_REQUESTS) throw tooManyConcurrentRequests();
  throw unexpected(path, status);
}
