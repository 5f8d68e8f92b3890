/**
 * Booking as arithmetic: the state of an account and its next events give transactions and the new
 * state. Nothing here reads or writes; the database's constraints check the same again.
 */
import {
  type Actor,
  type FactPlace,
  isAnnouncedByAccount,
  type TradingEvent,
  type TransactionType,
} from "@kapi/contracts";
import { isUuid, uuidV5 } from "@kapi/kernel";

import { postingsOf } from "./posting.ts";

/** What tells an account from all others. */
export interface AccountName {
  readonly serverId: string;
  readonly accountNumber: string;
}

/** How far an account is booked. Money in minor units. */
export interface LedgerAccount extends AccountName {
  readonly organizationId: string;
  readonly currency: "USD" | "NGN";
  readonly lastSequence: number;
  readonly balanceMinor: number;
  readonly transactionSequence: number;
  /** Sequence of the last booked event that the account service announces; 0 for none. */
  readonly announcedSequence: number;
}

/** A row of the ledger. Money in minor units. */
export interface LedgerTransaction extends AccountName {
  readonly id: string;
  readonly sequence: number;
  readonly eventSequence: number;
  readonly type: TransactionType;
  readonly amountMinor: number;
  readonly balanceBeforeMinor: number;
  readonly balanceAfterMinor: number;
  readonly description: string | null;
  /** The change that made the event, where it is a command's. */
  readonly commandId: string | null;
  /** Who asked for the change that made or caused the event, as the trading server tells it. */
  readonly createdBy: Actor | null;
  readonly orderId: string | null;
  readonly positionId: string | null;
  readonly dealId: string | null;
  /** When it happened on the trading server. */
  readonly recordedAt: string;
  readonly place: FactPlace;
}

/** The ledger and the trading server do not agree after an event; told, never mended. */
export interface Discrepancy extends AccountName {
  readonly eventSequence: number;
  readonly ledgerBalanceMinor: number;
  readonly serverBalanceMinor: number;
}

export interface Booked {
  readonly account: LedgerAccount;
  readonly transactions: readonly LedgerTransaction[];
  readonly discrepancies: readonly Discrepancy[];
}

/**
 * Books the next events of an account: the first follows the last one booked, each other the one
 * before it.
 */
export function book(account: LedgerAccount, run: readonly TradingEvent[]): Booked {
  const transactions: LedgerTransaction[] = [];
  const discrepancies: Discrepancy[] = [];
  let { lastSequence, balanceMinor, transactionSequence, announcedSequence } = account;
  for (const event of run) {
    // A deal is announced before the transactions that it makes.
    if (isAnnouncedByAccount(event)) announcedSequence = event.sequence;
    const made = transactionsOf({ ...account, balanceMinor, transactionSequence, announcedSequence }, event);
    transactions.push(...made);
    const last = made.at(-1);
    lastSequence = event.sequence;
    balanceMinor = last?.balanceAfterMinor ?? balanceMinor;
    transactionSequence = last?.sequence ?? transactionSequence;
    if (balanceMinor !== event.balanceMinor) discrepancies.push(discrepancyOf(event, balanceMinor));
  }
  return {
    account: { ...account, lastSequence, balanceMinor, transactionSequence, announcedSequence },
    transactions,
    discrepancies,
  };
}

/** The command whose change made the event, if one did. */
export function commandIdOf({ type, reference }: TradingEvent): string | null {
  const byCommand = type === "balance.changed" || type === "account.created";
  return byCommand && reference !== null && isUuid(reference) ? reference : null;
}

function transactionsOf(
  { serverId, accountNumber, balanceMinor, transactionSequence, announcedSequence: after }: LedgerAccount,
  event: TradingEvent,
): LedgerTransaction[] {
  const commandId = commandIdOf(event);
  let balanceBeforeMinor = balanceMinor;
  const postings = postingsOf(event);
  return postings.map((posting, index) => {
    // The event is announced with its last transaction.
    const through = index === postings.length - 1 ? event.sequence : event.sequence - 1;
    const { type, amountMinor, description, orderId, positionId, dealId } = posting;
    const transaction: LedgerTransaction = {
      id: uuidV5(event.eventId, type),
      serverId,
      accountNumber,
      sequence: transactionSequence + index + 1,
      eventSequence: event.sequence,
      type,
      amountMinor,
      balanceBeforeMinor,
      balanceAfterMinor: balanceBeforeMinor + amountMinor,
      description,
      commandId,
      createdBy: event.createdBy ?? null,
      orderId,
      positionId,
      dealId,
      recordedAt: event.occurredAt,
      place: { through, after },
    };
    balanceBeforeMinor = transaction.balanceAfterMinor;
    return transaction;
  });
}

function discrepancyOf(event: TradingEvent, ledgerBalanceMinor: number): Discrepancy {
  return {
    serverId: event.serverId,
    accountNumber: event.accountNumber,
    eventSequence: event.sequence,
    ledgerBalanceMinor,
    serverBalanceMinor: event.balanceMinor,
  };
}
