/**
 * Writes booked history: reads stored records, computes in the domain, writes with one statement.
 */
import { column } from "@kapi/commands";
import { accountKey, type TradingDeal, type TradingEvent, type TradingOrder, type AccountRef } from "@kapi/contracts";
import type { Queryable, Transaction } from "@kapi/postgres";

import {
  bookHistory,
  type BookedHistory,
  type Feed,
  type KnownPosition,
  type KnownRecords,
  type Numbered,
  type NumberedPosition,
  recordsOf,
} from "../../domain/history.ts";
import { type FeedRow, historyStatements, type HistoryTables, type KnownRow } from "./history-statements.ts";

/** The next events of an account, in order. */
export interface AccountRun {
  readonly account: AccountRef;
  readonly feed: Feed;
  readonly run: readonly TradingEvent[];
}

/**
 * Reads and writes one set of tables. Before `write`, the caller locks the rows of the accounts.
 */
export interface HistoryWriter {
  /** Feeds by `serverId/accountNumber`; accounts without a row in `feeds` are missing. */
  feeds(queryable: Queryable, accounts: readonly AccountRef[]): Promise<ReadonlyMap<string, Feed>>;
  /**
   * Books runs of different accounts; returns the results in order. The write is not awaited:
   * if it fails, the transaction rejects with its error.
   */
  write(transaction: Transaction, runs: readonly AccountRun[]): Promise<BookedHistory[]>;
}

/**
 * Creates a writer for the live tables, or for the staged tables of a rebuild. Both writers use the
 * same code, so a rebuild writes the rows that booking would have written.
 */
export function createHistoryWriter(tables: HistoryTables): HistoryWriter {
  const statements = historyStatements(tables);
  return {
    async feeds(queryable, accounts) {
      const rows = await queryable.query(statements.selectFeeds, [
        column(accounts.map(({ serverId }) => serverId)),
        column(accounts.map(({ accountNumber }) => accountNumber)),
      ]);
      return new Map(rows.map((row) => [accountKey(row.server_id, row.account_number), feedFromRow(row)]));
    },
    async write(transaction, runs) {
      const known = await knownRecords(transaction, runs, statements);
      const booked = runs.map(({ account, feed, run }) => ({
        account,
        history: bookHistory(feed, run, known.get(keyOf(account)) ?? NOTHING_KNOWN),
      }));
      if (booked.length > 0) transaction.execute(statements.write, columnsOf(booked));
      return booked.map(({ history }) => history);
    },
  };
}

function feedFromRow(row: FeedRow): Feed {
  return {
    bookedSequence: row.booked_sequence,
    orderCount: row.order_count,
    positionCount: row.position_count,
    openPositionCount: row.open_position_count,
    dealCount: row.deal_count,
    ledgerSequence: row.ledger_sequence,
  };
}

const NOTHING_KNOWN: KnownRecords = { orders: new Map(), positions: new Map() };

async function knownRecords(
  queryable: Queryable,
  runs: readonly AccountRun[],
  statements: ReturnType<typeof historyStatements>,
): Promise<ReadonlyMap<string, KnownRecords>> {
  const asked = runs.map(({ account, run }) => ({ account, ...recordsOf(run) }));
  const orders = asked.flatMap(({ account, orderIds }) => orderIds.map((id) => ({ ...account, id })));
  const positions = asked.flatMap(({ account, positionIds }) => positionIds.map((id) => ({ ...account, id })));
  if (orders.length === 0 && positions.length === 0) return new Map();
  const rows = await queryable.query(statements.selectKnown, [...keyColumns(orders), ...keyColumns(positions)]);
  const byAccount = Map.groupBy(rows, (row) => accountKey(row.server_id, row.account_number));
  return new Map(
    Array.from(byAccount, ([key, known]) => [
      key,
      {
        orders: new Map(known.filter(({ kind }) => kind === "order").map(({ id, n }) => [id, n])),
        positions: new Map(
          known.filter(({ kind }) => kind === "position").map((row) => [row.id, toKnownPosition(row)]),
        ),
      },
    ]),
  );
}

function toKnownPosition({ n, status, opened_volume: openedVolume }: KnownRow): KnownPosition {
  return { n, isOpen: status === "open", openedVolume: openedVolume ?? 0 };
}

function keyColumns(records: readonly (AccountRef & { readonly id: string })[]): string[] {
  return [
    column(records.map(({ serverId }) => serverId)),
    column(records.map(({ accountNumber }) => accountNumber)),
    column(records.map(({ id }) => id)),
  ];
}

type OfAccount<T> = AccountRef & { readonly id: string } & T;

function columnsOf(booked: readonly { account: AccountRef; history: BookedHistory }[]): string[] {
  const all = <T extends Numbered<{ readonly id: string }>>(
    pick: (history: BookedHistory) => readonly T[],
  ): OfAccount<T>[] =>
    booked.flatMap(({ account: { serverId, accountNumber }, history }) =>
      pick(history).map((numbered) => Object.assign({ serverId, accountNumber, id: numbered.record.id }, numbered)),
    );
  return [
    ...feedColumns(booked),
    ...orderColumns(all(({ orders }) => orders)),
    ...positionColumns(all(({ positions }) => positions)),
    ...dealColumns(all(({ deals }) => deals)),
  ];
}

function feedColumns(booked: readonly { account: AccountRef; history: BookedHistory }[]): string[] {
  return [
    column(booked.map(({ account }) => account.serverId)),
    column(booked.map(({ account }) => account.accountNumber)),
    column(booked.map(({ history }) => history.feed.bookedSequence)),
    column(booked.map(({ history }) => history.feed.orderCount)),
    column(booked.map(({ history }) => history.feed.positionCount)),
    column(booked.map(({ history }) => history.feed.openPositionCount)),
    column(booked.map(({ history }) => history.feed.dealCount)),
    column(booked.map(({ history }) => history.feed.ledgerSequence)),
  ];
}

function orderColumns(orders: readonly OfAccount<Numbered<TradingOrder>>[]): string[] {
  return [
    ...keyColumns(orders),
    column(orders.map(({ n }) => n)),
    column(orders.map(({ record }) => record.symbol)),
    column(orders.map(({ record }) => record.side)),
    column(orders.map(({ record }) => record.orderType)),
    column(orders.map(({ record }) => record.volume)),
    column(orders.map(({ record }) => record.status)),
    column(orders.map(({ record }) => record.createdAt)),
    column(orders.map(({ record }) => record.executedAt)),
  ];
}

function positionColumns(positions: readonly OfAccount<NumberedPosition>[]): string[] {
  return [
    ...keyColumns(positions),
    column(positions.map(({ n }) => n)),
    column(positions.map(({ record }) => record.orderId)),
    column(positions.map(({ record }) => record.symbol)),
    column(positions.map(({ record }) => record.side)),
    column(positions.map(({ record }) => record.volume)),
    column(positions.map(({ record }) => record.openPrice)),
    column(positions.map(({ record }) => record.status)),
    column(positions.map(({ record }) => record.openedAt)),
    column(positions.map(({ record }) => record.closedAt)),
    column(positions.map(({ openedVolume }) => openedVolume)),
  ];
}

function dealColumns(deals: readonly OfAccount<Numbered<TradingDeal>>[]): string[] {
  return [
    ...keyColumns(deals),
    column(deals.map(({ n }) => n)),
    column(deals.map(({ record }) => record.orderId)),
    column(deals.map(({ record }) => record.positionId)),
    column(deals.map(({ record }) => record.symbol)),
    column(deals.map(({ record }) => record.side)),
    column(deals.map(({ record }) => record.kind)),
    column(deals.map(({ record }) => record.volume)),
    column(deals.map(({ record }) => record.price)),
    column(deals.map(({ record }) => record.commissionMinor)),
    column(deals.map(({ record }) => record.realizedPnlMinor)),
    column(deals.map(({ record }) => record.swapMinor)),
    column(deals.map(({ record }) => record.executedAt)),
  ];
}

function keyOf({ serverId, accountNumber }: AccountRef): string {
  return accountKey(serverId, accountNumber);
}
