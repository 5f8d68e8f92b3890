import { Readable } from "node:stream";

import { isPaged, type Issue, Server } from "@kapi/contracts";
import {
  callerHeaders,
  type CallOptions,
  type InternalClient,
  tooManyConcurrentRequests,
  unexpected,
  withQuery,
} from "@kapi/http";
import { z } from "zod";

import { type Accounts, UNKNOWN_ID } from "../../domain/ports.ts";
import { accountPath, bytesOf, foundBytesOf } from "./owner-bytes.ts";

const OK = 200;
const TOO_MANY_REQUESTS = 429;

const ConfigurationAnswer = z.object({ server: Server });
/** Release 0.1.0 tells no ids. */
const ExistingAnswer = z.object({ existing: z.array(z.boolean()), ids: z.array(z.string().nullable()).optional() });
const RefusedAnswer = z.object({
  issues: z.array(
    z.object({ path: z.array(z.union([z.string(), z.number()])), code: z.string(), message: z.string() }),
  ) satisfies z.ZodType<Issue[]>,
});

export interface AccountsOptions {
  /** For questions on the way to a command. */
  readonly checkTimeoutMs: number;
  /** For the immediate delete, which waits for the account's running command first. */
  readonly deleteTimeoutMs: number;
  /** The organization that a server belongs to: reads of its accounts take from the share of that. */
  readonly organizationOf: (serverId: string) => string | undefined;
}

/** The account service over internal HTTP. */
export function createAccounts(client: InternalClient, options: AccountsOptions): Accounts {
  const checking = { timeoutMs: options.checkTimeoutMs };
  const ofServer = (serverId: string): CallOptions => ({ organizationId: options.organizationOf(serverId) });
  return {
    configurationBytes: (serverId) => foundBytesOf(client, configurationPath(serverId), ofServer(serverId)),
    configuration: async (serverId) =>
      (await client.json("GET", configurationPath(serverId), undefined, ConfigurationAnswer, checking)).server,
    changeConfiguration: async (serverId, change, caller) => {
      const path = configurationPath(serverId);
      const asking = { ...ofServer(serverId), headers: callerHeaders(caller) };
      const { status, body } = await client.request("PATCH", path, change, asking);
      if (status === OK) return { body };
      const refused = status === 400 ? RefusedAnswer.safeParse(JSON.parse(body.toString("utf8"))) : null;
      if (refused?.success) return { issues: refused.data.issues };
      throw unexpected(path, status);
    },
    accountBytes: (serverId, accountNumber) =>
      bytesOf(client, accountPath(serverId, accountNumber), ofServer(serverId)),
    list: async (serverId, query) => {
      const path = withQuery(`/internal/servers/${serverId}/accounts`, query);
      const { status, body } = await (isPaged(query)
        ? client.request("GET", path, undefined, ofServer(serverId))
        : client.stream("GET", path));
      if (status === OK) return body;
      if (body instanceof Readable) body.destroy();
      throw status === TOO_MANY_REQUESTS ? tooManyConcurrentRequests() : unexpected(path, status);
    },
    ids: async (accounts) => {
      const asking = { ...checking, repeatable: true };
      const path = "/internal/accounts/existing";
      const { existing, ids } = await client.json("POST", path, { accounts }, ExistingAnswer, asking);
      return ids ?? existing.map((exists) => (exists ? UNKNOWN_ID : null));
    },
    orders: (serverId, accountNumber, query) =>
      bytesOf(client, withQuery(`${accountPath(serverId, accountNumber)}/orders`, query), ofServer(serverId)),
    positions: (serverId, accountNumber, query) =>
      bytesOf(client, withQuery(`${accountPath(serverId, accountNumber)}/positions`, query), ofServer(serverId)),
    deals: (serverId, accountNumber, query) =>
      bytesOf(client, withQuery(`${accountPath(serverId, accountNumber)}/deals`, query), ofServer(serverId)),
    deleteNow: (serverId, accountNumber, caller) =>
      bytesOf(client, accountPath(serverId, accountNumber), {
        ...ofServer(serverId),
        method: "DELETE",
        headers: callerHeaders(caller),
        timeoutMs: options.deleteTimeoutMs,
        repeatable: true,
      }),
  };
}

function configurationPath(serverId: string): string {
  return `/internal/servers/${serverId}/configuration`;
}
