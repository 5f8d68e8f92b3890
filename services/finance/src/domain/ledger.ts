/**
 * Booking as pure computation: the state of an account and its next events give transactions and
 * the new state. The database's constraints check the result again.
 */
import {
  type Actor,
  type EventPlace,
  isAnnouncedByAccount,
  type TradingEvent,
  type TransactionType,
  type AccountRef,
} from "@kapi/contracts";
import { isUuid, uuidV5 } from "@kapi/kernel";

import { postingsOf } from "./posting.ts";

/** The booked state of an account. Money in minor units. */
export interface LedgerAccount extends AccountRef {
  readonly organizationId: string;
  readonly currency: "USD" | "NGN";
  /** Sequence of the last booked event. */
  readonly lastSequence: number;
  readonly balanceMinor: number;
  /** Sequence of the last transaction; 0 without one. */
  readonly transactionSequence: number;
  /** Sequence of the last booked event that the account service publishes; 0 without one. */
  readonly announcedSequence: number;
}

/** A ledger transaction. Money in minor units. */
export interface LedgerTransaction extends AccountRef {
  readonly id: string;
  /** Counts the transactions of the account from 1. */
  readonly sequence: number;
  /** Sequence of the trading event. */
  readonly eventSequence: number;
  readonly type: TransactionType;
  readonly amountMinor: number;
  readonly balanceBeforeMinor: number;
  readonly balanceAfterMinor: number;
  readonly description: string | null;
  /** The command whose change made the event, or null. */
  readonly commandId: string | null;
  /** The caller of the change that made or caused the event, as reported by the trading server. */
  readonly createdBy: Actor | null;
  readonly orderId: string | null;
  readonly positionId: string | null;
  readonly dealId: string | null;
  /** When the event happened on the trading server. */
  readonly recordedAt: string;
  readonly place: EventPlace;
}

/** A difference between ledger and trading server after an event. Reported, never corrected. */
export interface Discrepancy extends AccountRef {
  readonly eventSequence: number;
  readonly ledgerBalanceMinor: number;
  readonly serverBalanceMinor: number;
}

/**
 * The result of booking consecutive events of an account. The caller writes the new state and the
 * transactions in one transaction of the database, and reports the discrepancies.
 */
export interface BookingResult {
  readonly account: LedgerAccount;
  /** In the order of their sequence. */
  readonly transactions: readonly LedgerTransaction[];
  readonly discrepancies: readonly Discrepancy[];
}

/** Books the next events of an account: `run` follows the last booked event without a gap. */
export function bookEvents(account: LedgerAccount, run: readonly TradingEvent[]): BookingResult {
  const transactions: LedgerTransaction[] = [];
  const discrepancies: Discrepancy[] = [];
  let { lastSequence, balanceMinor, transactionSequence, announcedSequence } = account;
  for (const event of run) {
    // Set first, so that the place of a deal's transactions is after the deal.
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

/** The id of the command that created the account or changed its balance, else null. */
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
    // `through`: finance has announced every trading event up to this sequence. An event is
    // announced with its last transaction.
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
