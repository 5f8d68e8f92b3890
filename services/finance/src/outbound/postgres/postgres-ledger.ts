/** The ledger in PostgreSQL: one unit of booking is one transaction of a handful of statements. */
import { column, type CommandStore, type OpenCommand, type WorkTransaction } from "@kapi/commands";
import { actorToText, type TradingEvent } from "@kapi/contracts";
import { amountFromMinor, type Clock, toIso } from "@kapi/kernel";
import { type Booking, judgeEvents } from "@kapi/trading-server/event-feed";

import {
  type AccountName,
  book,
  type Booked,
  commandIdOf,
  type LedgerAccount,
  type LedgerTransaction,
} from "../../domain/ledger.ts";
import type { LedgerReport, Ledger } from "../../domain/ports.ts";
import { creatorOf, toFactMessage } from "../kafka/finance-facts.ts";
import { SEEN_ACCOUNTS } from "./read-statements.ts";
import {
  type AccountRow,
  INSERT_ACCOUNTS,
  LOCK_ACCOUNTS,
  NOTE_GAPS,
  TRANSACTIONS_OF_COMMANDS,
  WRITE_BOOKINGS,
} from "./statements.ts";

export interface PostgresLedgerOptions {
  readonly store: CommandStore;
  readonly clock: Clock;
  /** The organization that a server belongs to; undefined while the directory does not know it. */
  readonly organizationOf: (serverId: string) => string | undefined;
}

/** Makes the {@link Ledger} of this service's schema. */
export function createPostgresLedger({ store, clock, organizationOf }: PostgresLedgerOptions): Ledger {
  return {
    book: (events) => store.transact((unit) => bookUnit(unit, events, toIso(clock.nowMs()), organizationOf)),
    noteGap: async (account, neededSequence) => {
      await store.database.query(NOTE_GAPS, [[account.serverId], [account.accountNumber], [neededSequence]]);
    },
    confirm: (commandIds) => store.transact((unit) => confirmUnit(unit, commandIds)),
    known: async (accounts) => {
      const rows = await store.database.query(SEEN_ACCOUNTS, [
        column(accounts.map(({ serverId }) => serverId)),
        column(accounts.map(({ accountNumber }) => accountNumber)),
      ]);
      const known = new Set(rows.map((row) => `${row.server_id}/${row.account_number}`));
      return accounts.map(({ serverId, accountNumber }) => known.has(`${serverId}/${accountNumber}`));
    },
  };
}

/** Books one unit: locks, arithmetic, rows, ends of commands, facts. */
async function bookUnit(
  unit: WorkTransaction,
  events: readonly TradingEvent[],
  now: string,
  organizationOf: (serverId: string) => string | undefined,
): Promise<LedgerReport> {
  const byAccount = Map.groupBy(events, ({ serverId, accountNumber }) => `${serverId}/${accountNumber}`);
  // Whether the commands are open is read after the locks: the transaction that held them before
  // may have ended some.
  const [accounts, open] = await Promise.all([
    lockAccounts(unit, byAccount, organizationOf),
    unit.readOpen(events.flatMap((event) => commandIdOf(event) ?? [])),
  ]);
  const booked: Booked[] = [];
  const gaps = new Map<string, AccountName & { readonly neededSequence: number }>();
  const bookingOf = new Map<TradingEvent, Booking>();
  for (const [key, ofAccount] of byAccount) {
    const account = accounts.get(key);
    const judged = account === undefined ? null : judgeEvents(account.lastSequence, ofAccount);
    if (account !== undefined && judged !== null && judged.run.length > 0) booked.push(book(account, judged.run));
    for (const [index, event] of ofAccount.entries()) {
      const booking = judged?.bookings[index] ?? "gap";
      bookingOf.set(event, booking);
      if (booking !== "gap") continue;
      gaps.set(key, {
        serverId: event.serverId,
        accountNumber: event.accountNumber,
        neededSequence: Math.max(event.sequence, gaps.get(key)?.neededSequence ?? 0),
      });
    }
  }
  if (booked.length > 0) writeBookings(unit, booked, open, now);
  if (gaps.size > 0) noteGaps(unit, [...gaps.values()]);
  return {
    bookings: events.map((event) => bookingOf.get(event) ?? "gap"),
    discrepancies: booked.flatMap(({ discrepancies }) => discrepancies),
    gaps: [...gaps.values()],
  };
}

/** The states of the accounts, locked. An account whose first event is here comes into being. */
async function lockAccounts(
  unit: WorkTransaction,
  byAccount: ReadonlyMap<string, readonly TradingEvent[]>,
  organizationOf: (serverId: string) => string | undefined,
): Promise<Map<string, LedgerAccount>> {
  const firsts = [...byAccount.values()].flatMap(([first]) => (first === undefined ? [] : [first]));
  const rows = await unit.query(LOCK_ACCOUNTS, [
    column(firsts.map(({ serverId }) => serverId)),
    column(firsts.map(({ accountNumber }) => accountNumber)),
  ]);
  const accounts = new Map(rows.map((row) => [`${row.server_id}/${row.account_number}`, fromRow(row)]));
  const created = firsts.flatMap((event) => {
    if (accounts.has(`${event.serverId}/${event.accountNumber}`) || event.type !== "account.created") return [];
    const organizationId = organizationOf(event.serverId);
    return organizationId === undefined ? [] : [{ event, organizationId }];
  });
  if (created.length === 0) return accounts;
  // One that another process makes at this moment is not returned: its events count as a gap and
  // are asked for again.
  const made = await unit.query(INSERT_ACCOUNTS, [
    column(created.map(({ event }) => event.serverId)),
    column(created.map(({ event }) => event.accountNumber)),
    column(created.map(({ organizationId }) => organizationId)),
    column(created.map(({ event }) => event.currency)),
  ]);
  for (const row of made) accounts.set(`${row.server_id}/${row.account_number}`, fromRow(row));
  return accounts;
}

function writeBookings(
  unit: WorkTransaction,
  booked: readonly Booked[],
  openCommands: readonly OpenCommand[],
  now: string,
): void {
  const transactions = booked.flatMap(({ account, transactions: made }) =>
    made.map((transaction) => ({ account, transaction })),
  );
  const open = new Map(openCommands.map((command) => [command.message.commandId, command]));
  const rows = transactions.map(({ account, transaction }) => {
    const command = transaction.commandId === null ? undefined : open.get(transaction.commandId);
    return { account, transaction, command };
  });
  unit.execute(WRITE_BOOKINGS, columns(booked, rows, now));
  unit.enqueue(
    rows.map(({ account, transaction, command }) => toFactMessage(account, transaction, command?.message, now)),
  );
  unit.finish(rows.flatMap(({ command, transaction }) => (command === undefined ? [] : [ended(command, transaction)])));
}

function columns(
  booked: readonly Booked[],
  rows: readonly { account: LedgerAccount; transaction: LedgerTransaction; command: OpenCommand | undefined }[],
  now: string,
): unknown[] {
  return [
    column(booked.map(({ account }) => account.serverId)),
    column(booked.map(({ account }) => account.accountNumber)),
    column(booked.map(({ account }) => account.lastSequence)),
    column(booked.map(({ account }) => account.balanceMinor)),
    column(booked.map(({ account }) => account.transactionSequence)),
    column(booked.map(({ account }) => account.announcedSequence)),
    column(rows.map(({ transaction }) => transaction.id)),
    column(rows.map(({ transaction }) => transaction.serverId)),
    column(rows.map(({ transaction }) => transaction.accountNumber)),
    column(rows.map(({ transaction }) => transaction.sequence)),
    column(rows.map(({ transaction }) => transaction.eventSequence)),
    column(rows.map(({ transaction }) => transaction.type)),
    column(rows.map(({ transaction }) => transaction.amountMinor)),
    column(rows.map(({ account, transaction }) => counterLedger(account, transaction))),
    column(rows.map(({ transaction }) => transaction.balanceBeforeMinor)),
    column(rows.map(({ transaction }) => transaction.balanceAfterMinor)),
    column(rows.map(({ transaction }) => transaction.description)),
    column(rows.map(({ command }) => command?.message.requestId ?? null)),
    column(rows.map(({ transaction }) => transaction.commandId)),
    column(rows.map(({ transaction }) => transaction.orderId)),
    column(rows.map(({ transaction }) => transaction.positionId)),
    column(rows.map(({ transaction }) => transaction.dealId)),
    column(rows.map(({ transaction }) => transaction.recordedAt)),
    column(rows.map(() => now)),
    column(rows.map(({ transaction, command }) => actorToText(creatorOf(transaction, command?.message)))),
  ];
}

/**
 * Where the other side of a transaction is booked: money of two currencies never meets in one
 * ledger.
 */
function counterLedger({ organizationId, currency }: LedgerAccount, { type }: LedgerTransaction): string {
  return `organization/${organizationId}/${currency}/${type}`;
}

function noteGaps(unit: WorkTransaction, gaps: readonly (AccountName & { readonly neededSequence: number })[]): void {
  unit.execute(NOTE_GAPS, [
    column(gaps.map(({ serverId }) => serverId)),
    column(gaps.map(({ accountNumber }) => accountNumber)),
    column(gaps.map(({ neededSequence }) => neededSequence)),
  ]);
}

/**
 * Ends commands whose transaction is booked. All others of `commandIds` that are still open stay
 * so.
 */
async function confirmUnit(unit: WorkTransaction, commandIds: readonly string[]): Promise<ReadonlySet<string>> {
  const final = new Set(commandIds);
  const open = await unit.readOpen(commandIds);
  if (open.length === 0) return final;
  const rows = await unit.query(TRANSACTIONS_OF_COMMANDS, [
    column(open.map(({ message }) => message.serverId)),
    column(open.map(({ message }) => message.commandId)),
  ]);
  const booked = new Map(rows.map((row) => [row.command_id, row]));
  for (const command of open) {
    const row = booked.get(command.message.commandId);
    if (row === undefined) final.delete(command.message.commandId);
    else unit.finish([ended(command, { id: row.id, balanceAfterMinor: row.balance_after_minor })]);
  }
  return final;
}

function ended(command: OpenCommand, transaction: Pick<LedgerTransaction, "id" | "balanceAfterMinor">) {
  return {
    command,
    status: "succeeded" as const,
    result: { transactionId: transaction.id, balanceAfter: amountFromMinor(transaction.balanceAfterMinor) },
    errorCode: null,
    errorMessage: null,
  };
}

function fromRow(row: AccountRow): LedgerAccount {
  return {
    serverId: row.server_id,
    accountNumber: row.account_number,
    organizationId: row.organization_id,
    currency: row.currency,
    lastSequence: row.last_sequence,
    balanceMinor: row.balance_minor,
    transactionSequence: row.transaction_sequence,
    announcedSequence: row.announced_sequence,
  };
}
