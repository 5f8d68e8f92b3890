/** The ledger in PostgreSQL: one unit is one database transaction with a few statements. */
import { column, type CommandStore, type OpenCommand, type WorkTransaction } from "@kapi/commands";
import { actorToText, type TradingEvent, type AccountRef } from "@kapi/contracts";
import { type LateRecord, noteLateRecords, utcDay } from "@kapi/digests";
import { amountFromMinor, type Clock, toIso } from "@kapi/kernel";
import { type Booking, classifyEvents } from "@kapi/trading-server/event-feed";

import {
  bookEvents,
  type BookingResult,
  commandIdOf,
  type LedgerAccount,
  type LedgerTransaction,
} from "../../domain/ledger.ts";
import { postingsOf } from "../../domain/posting.ts";
import type { LedgerReport, Ledger } from "../../domain/ports.ts";
import { creatorOf, toEventMessage } from "../kafka/finance-events.ts";
import { SEEN_ACCOUNTS } from "./read-statements.ts";
import {
  type AccountRow,
  INSERT_ACCOUNTS,
  LOCK_ACCOUNTS,
  NOTE_GAPS,
  TRANSACTIONS_OF_COMMANDS,
  WRITE_BOOKINGS,
} from "./statements.ts";

interface PostgresLedgerOptions {
  readonly store: CommandStore;
  readonly clock: Clock;
  /** The organization of a server; undefined while the directory does not know it. */
  readonly organizationOf: (serverId: string) => string | undefined;
}

/**
 * The ledger in the schema of finance. `store` gives the database transactions, which also complete
 * open commands. `clock` gives the time of booking.
 */
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

/** Books one unit: locks, computation, rows, final states of commands, events. */
async function bookUnit(
  unit: WorkTransaction,
  events: readonly TradingEvent[],
  now: string,
  organizationOf: (serverId: string) => string | undefined,
): Promise<LedgerReport> {
  const byAccount = Map.groupBy(events, ({ serverId, accountNumber }) => `${serverId}/${accountNumber}`);
  // Open commands are read after the locks: the previous lock holder may have completed some.
  const [accounts, open] = await Promise.all([
    lockAccounts(unit, byAccount, organizationOf),
    unit.readOpen(events.flatMap((event) => commandIdOf(event) ?? [])),
  ]);
  const booked: BookingResult[] = [];
  const late: LateRecord[] = [];
  const gaps = new Map<string, AccountRef & { readonly neededSequence: number }>();
  const bookingOf = new Map<TradingEvent, Booking>();
  for (const [key, ofAccount] of byAccount) {
    const account = accounts.get(key);
    const accepted = account === undefined ? null : classifyEvents(account.lastSequence, ofAccount);
    if (account !== undefined && accepted !== null && accepted.run.length > 0) {
      booked.push(bookEvents(account, accepted.run));
      late.push(...lateRecords(accepted.run, utcDay(now)));
    }
    for (const [index, event] of ofAccount.entries()) {
      const booking = accepted?.bookings[index] ?? "gap";
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
  noteLateRecords(unit, late);
  if (gaps.size > 0) noteGaps(unit, [...gaps.values()]);
  return {
    bookings: events.map((event) => bookingOf.get(event) ?? "gap"),
    discrepancies: booked.flatMap(({ discrepancies }) => discrepancies),
    gaps: [...gaps.values()],
  };
}

/** The events before `today` that change a digest of their day (decisions, 21.4). */
function lateRecords(run: readonly TradingEvent[], today: string): LateRecord[] {
  return run.flatMap((event) => {
    const { serverId, accountNumber } = event;
    const day = utcDay(event.occurredAt);
    const isDigested = event.type === "account.created" || postingsOf(event).length > 0;
    return day < today && isDigested ? [{ serverId, accountNumber, day }] : [];
  });
}

/**
 * Locks the accounts and returns their states. An unknown account is inserted if its first event in
 * the unit is `account.created` and the directory knows its server.
 */
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
  // An account that another process inserts concurrently is not returned: its events count as a gap
  // and are read again.
  const made = await unit.query(INSERT_ACCOUNTS, [
    column(created.map(({ event }) => event.serverId)),
    column(created.map(({ event }) => event.accountNumber)),
    column(created.map(({ organizationId }) => organizationId)),
    column(created.map(({ event }) => event.currency)),
    column(created.map(({ event }) => event.occurredAt)),
  ]);
  for (const row of made) accounts.set(`${row.server_id}/${row.account_number}`, fromRow(row));
  return accounts;
}

function writeBookings(
  unit: WorkTransaction,
  booked: readonly BookingResult[],
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
    rows.map(({ account, transaction, command }) => toEventMessage(account, transaction, command?.message, now)),
  );
  unit.finish(
    rows.flatMap(({ command, transaction }) => (command === undefined ? [] : [finished(command, transaction)])),
  );
}

function columns(
  booked: readonly BookingResult[],
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

/** The counter ledger of a transaction. Each currency has its own ledger. */
function counterLedger({ organizationId, currency }: LedgerAccount, { type }: LedgerTransaction): string {
  return `organization/${organizationId}/${currency}/${type}`;
}

function noteGaps(unit: WorkTransaction, gaps: readonly (AccountRef & { readonly neededSequence: number })[]): void {
  unit.execute(NOTE_GAPS, [
    column(gaps.map(({ serverId }) => serverId)),
    column(gaps.map(({ accountNumber }) => accountNumber)),
    column(gaps.map(({ neededSequence }) => neededSequence)),
  ]);
}

/** Completes commands whose transaction is booked; commands without a transaction stay open. */
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
    else unit.finish([finished(command, { id: row.id, balanceAfterMinor: row.balance_after_minor })]);
  }
  return final;
}

function finished(command: OpenCommand, transaction: Pick<LedgerTransaction, "id" | "balanceAfterMinor">) {
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
