/** Stand-ins for the lists that account, finance and command-status serve for one account. */
import {
  ACCOUNT_ROUTES,
  type Actor,
  type Command,
  COMMAND_STATUS_ROUTES,
  type CursorKey,
  type CursorList,
  cursorPage,
  type CursorQuery,
  type Deal,
  FINANCE_ROUTES,
  listScope,
  type Order,
  pageStart,
  type Position,
  type Transaction,
} from "@kapi/contracts";
import { ApiError, type createHttpServer, parse } from "@kapi/http";
import { z } from "zod";

const ServerPath = z.object({ serverId: z.guid() });
const AccountPath = ServerPath.extend({ accountNumber: z.string() });
const AT = "2026-01-01T00:00:00.000Z";

/** The data of the lists; tests set it. */
export interface RecordData {
  /** Numbers of the existing accounts, per server. */
  readonly accounts: Map<string, string[]>;
  /** Number of records in each list of an account, by account number. */
  readonly recordCounts: Map<string, number>;
  /** Who requested the transactions and commands of all accounts. */
  recordedBy: Actor | null;
}

/**
 * Adds the routes of the lists to `app`. Every list of an account has as many records as
 * `recordCounts` says, numbered from 1. Answers contain the query, so that tests can check it.
 */
export function installRecords(app: ReturnType<typeof createHttpServer>, state: RecordData): void {
  const { orders, positions, deals } = {
    orders: ACCOUNT_ROUTES.listTradingAccountOrders,
    positions: ACCOUNT_ROUTES.listAccountPositions,
    deals: ACCOUNT_ROUTES.listAccountDeals,
  };
  const bySequence = (
    list: "orders" | "positions" | "deals" | "transactions",
    params: unknown,
    query: CursorQuery,
    recordOf: (number: number) => object,
  ) => {
    const account = parse(AccountPath, params);
    // The finance service answers an unknown account with a page, not with 404.
    const exists = state.accounts.get(account.serverId)?.includes(account.accountNumber) === true;
    if (list !== "transactions" && !exists) throw new ApiError("ACCOUNT_NOT_FOUND");
    const total = state.recordCounts.get(account.accountNumber) ?? 0;
    const keyOf = (number: number): [number] => [number];
    const page = pageOf(list, {
      query,
      scope: listScope(account),
      total,
      keyOf,
      numberOf: ([number]) => number,
    });
    return { [list]: page.rows.map(recordOf), pagination: page.pagination, asked: query };
  };
  app.get(orders.path, ({ params, query }) => bySequence("orders", params, parse(orders.query, query), orderOf));
  app.get(positions.path, ({ params, query }) =>
    bySequence("positions", params, parse(positions.query, query), positionOf),
  );
  app.get(deals.path, ({ params, query }) => bySequence("deals", params, parse(deals.query, query), dealOf));
  const { listTradingAccountTransactions: transactions } = FINANCE_ROUTES;
  app.get(transactions.path, ({ params, query }) =>
    bySequence("transactions", params, parse(transactions.query, query), (number) =>
      transactionOf(number, state.recordedBy),
    ),
  );
  const { listCommands: commands } = COMMAND_STATUS_ROUTES;
  app.get(commands.path, (request) => {
    const { serverId } = parse(ServerPath, request.params);
    const query = parse(commands.query, request.query);
    const { rows, pagination } = pageOf("commands", {
      query,
      scope: listScope({ serverId }),
      total: state.recordCounts.get(query.accountNumber ?? "") ?? 0,
      keyOf: (number) => ["2026-01-01T00:00:00.000000Z", idOf(number)],
      numberOf: ([, id]) => Number(id.slice(-12)),
    });
    return { commands: rows.map((number) => commandOf(number, serverId, state.recordedBy)), pagination, asked: query };
  });
}

interface PageOptions<List extends CursorList> {
  readonly query: CursorQuery;
  readonly scope: string;
  readonly total: number;
  readonly keyOf: (number: number) => CursorKey<List>;
  readonly numberOf: (key: CursorKey<List>) => number;
}

/** A page of record numbers, in descending order. */
function pageOf<List extends CursorList>(
  list: List,
  { query, scope, total, keyOf, numberOf }: PageOptions<List>,
): ReturnType<typeof cursorPage<List, number>> {
  const start = pageStart(list, query);
  const first = start.after === null ? total - start.offset : numberOf(start.after) - 1;
  const length = Math.max(0, Math.min(first, start.limit + 1));
  const rows = Array.from({ length }, (_, index) => first - index);
  return cursorPage(list, scope, start, { rows, total }, keyOf);
}

function idOf(number: number): string {
  return `018f0000-0000-7000-8000-${String(number).padStart(12, "0")}`;
}

function orderOf(number: number): Order {
  return {
    id: `O-${number}`,
    symbol: "=EURUSD",
    side: "buy",
    orderType: "limit",
    volume: 0.5,
    status: "executed",
    createdAt: AT,
    executedAt: null,
  };
}

function positionOf(number: number): Position {
  return {
    id: `P-${number}`,
    orderId: `O-${number}`,
    symbol: "EURUSD",
    side: "buy",
    volume: 0.5,
    closedVolume: 0.1,
    openPrice: 1.1,
    status: "open",
    openedAt: AT,
    closedAt: null,
  };
}

function dealOf(number: number): Deal {
  return {
    id: `D-${number}`,
    orderId: `O-${number}`,
    positionId: `P-${number}`,
    symbol: "EURUSD",
    side: "sell",
    kind: "exit",
    volume: 0.5,
    price: 1.1,
    commission: -0.5,
    realizedPnl: -12.5,
    swap: 0,
    executedAt: AT,
  };
}

function transactionOf(number: number, createdBy: Actor | null): Transaction {
  return {
    id: idOf(number),
    accountNumber: "10000001",
    sequence: number,
    type: "deposit",
    amount: 12.5,
    currency: "USD",
    balanceBefore: 100,
    balanceAfter: 112.5,
    description: "=1+1",
    requestId: "payout",
    commandId: idOf(number),
    orderId: null,
    positionId: null,
    dealId: null,
    reversalOf: null,
    createdBy,
    recordedAt: AT,
    createdAt: AT,
  };
}

function commandOf(number: number, serverId: string, createdBy: Actor | null): Command {
  return {
    id: idOf(number),
    operation: "finance.deposit",
    status: "succeeded",
    managedAccountId: idOf(1),
    attempts: 1,
    payload: { amount: 12.5 },
    result: null,
    errorCode: null,
    errorMessage: null,
    idempotencyKey: `key-${number}`,
    createdAt: AT,
    completedAt: AT,
    requestId: "payout",
    serverId,
    accountNumber: "10000001",
    updatedAt: AT,
    deadlineAt: AT,
    createdBy,
  };
}
