import { ACCOUNT_ROUTES, FINANCE_ROUTES, type InternalRoute, pathOf } from "@kapi/contracts";
import {
  callRouteRaw,
  DependencyError,
  type InternalClient,
  tooManyConcurrentRequests,
  unexpectedStatus,
} from "@kapi/http";

import type { AccountRecords, RecordList } from "../../domain/account-records.ts";

const OK = 200;
const NOT_FOUND = 404;
const TOO_MANY_REQUESTS = 429;
/** Longer than the account service takes to bring open positions up to date. */
const TIMEOUT_MS = 6_000;
/**
 * Every page that this release sends contains these bytes. The values of records cannot contain
 * them: in a JSON string, quotes are escaped.
 */
const NEXT_CURSOR = Buffer.from('"nextCursor":');

/** The clients of the services that own the lists. */
interface RecordOwners {
  readonly account: InternalClient;
  readonly finance: InternalClient;
}

/** Reads orders, positions, deals and transactions over internal HTTP. */
export function createAccountRecords({ account: trading, finance }: RecordOwners): AccountRecords {
  const lists: Readonly<Record<RecordList, { readonly client: InternalClient; readonly route: InternalRoute }>> = {
    orders: { client: trading, route: ACCOUNT_ROUTES.listTradingAccountOrders },
    positions: { client: trading, route: ACCOUNT_ROUTES.listAccountPositions },
    deals: { client: trading, route: ACCOUNT_ROUTES.listAccountDeals },
    transactions: { client: finance, route: FINANCE_ROUTES.listTradingAccountTransactions },
  };
  return {
    page: async (list, account, query) => {
      const { client, route } = lists[list];
      const asked = { params: { ...account }, query };
      const { status, body } = await callRouteRaw(client, route, asked, { timeoutMs: TIMEOUT_MS });
      if (status === NOT_FOUND) return null;
      if (status === TOO_MANY_REQUESTS) throw tooManyConcurrentRequests();
      const path = pathOf(route, asked);
      if (status !== OK) throw unexpectedStatus(path, status);
      if (!body.includes(NEXT_CURSOR)) {
        throw new DependencyError(`${path}: a process of release 0.1.0 answered, which ignores cursors and filters`);
      }
      return body;
    },
  };
}
