import { type ErrorCode, HISTORY_ROUTE, pathOf } from "@kapi/contracts";
import { callRouteRaw, DependencyError, errorCodeOf, type InternalClient } from "@kapi/http";

import { type HistoryOwner, OwnerUnavailable } from "../../domain/ports.ts";

const NOT_FOUND = 404;
const UNKNOWN_ACCOUNT: ErrorCode = "ACCOUNT_NOT_FOUND";
const TOO_MANY_REQUESTS = 429;
const OK = 200;

/** Reads an owner's history over its internal route. */
export function createHistoryOwner(client: InternalClient): HistoryOwner {
  return {
    newest: async (serverId, accountNumber, { from, to, limit }) => {
      const query = { from: from ?? undefined, to: to ?? undefined, limit };
      const asked = { params: { serverId, accountNumber }, query };
      try {
        const response = await callRouteRaw(client, HISTORY_ROUTE, asked);
        const { status, body } = response;
        if (errorCodeOf(response) === UNKNOWN_ACCOUNT) return null;
        if (status === NOT_FOUND) throw new OwnerUnavailable("a 404 without the error code of an unknown account");
        // Above the organization's share of calls to the trading server (decisions, 1.7).
        if (status === TOO_MANY_REQUESTS) {
          throw new OwnerUnavailable("too many calls of the organization wait for its trading server");
        }
        if (status !== OK) throw unexpectedStatus(pathOf(HISTORY_ROUTE, asked), status);
        return HISTORY_ROUTE.answer.parse(JSON.parse(body.toString("utf8"))).records;
      } catch (error) {
        if (error instanceof DependencyError) throw new OwnerUnavailable(error.message, { cause: error });
        throw error;
      }
    },
  };
}

function unexpectedStatus(path: string, status: number): Error {
  return new Error(`an owner of history answered ${path} with status ${status}`);
}
