import {
  accountKey,
  type Actor,
  type CommandHeader,
  type FinanceEvent,
  TOPICS,
  type Transaction,
} from "@kapi/contracts";
import { amountFromMinor } from "@kapi/kernel";
import type { OutboxMessage } from "@kapi/outbox";

import type { LedgerAccount, LedgerTransaction } from "../../domain/ledger.ts";

/**
 * The message of `finance.events` for a booked ledger transaction. The event id is the id of this
 * transaction. `command`: the deposit or withdrawal that moved the money, if any.
 */
export function toEventMessage(
  account: LedgerAccount,
  transaction: LedgerTransaction,
  command: CommandHeader | undefined,
  createdAt: string,
): OutboxMessage {
  const { serverId, accountNumber } = transaction;
  const event: FinanceEvent = {
    eventId: transaction.id,
    organizationId: account.organizationId,
    serverId,
    accountNumber,
    occurredAt: transaction.recordedAt,
    place: transaction.place,
    type: "transaction.recorded",
    transaction: toWire(account, transaction, command, createdAt),
  };
  const { traceparent } = command ?? {};
  const key = accountKey(serverId, accountNumber);
  return { topic: TOPICS.financeEvents, key, value: JSON.stringify(event), traceparent };
}

function toWire(
  account: LedgerAccount,
  transaction: LedgerTransaction,
  command: CommandHeader | undefined,
  createdAt: string,
): Transaction {
  return {
    id: transaction.id,
    accountNumber: transaction.accountNumber,
    sequence: transaction.sequence,
    type: transaction.type,
    amount: amountFromMinor(transaction.amountMinor),
    currency: account.currency,
    balanceBefore: amountFromMinor(transaction.balanceBeforeMinor),
    balanceAfter: amountFromMinor(transaction.balanceAfterMinor),
    description: transaction.description,
    requestId: command?.requestId ?? null,
    commandId: transaction.commandId,
    orderId: transaction.orderId,
    positionId: transaction.positionId,
    dealId: transaction.dealId,
    reversalOf: null,
    createdBy: creatorOf(transaction, command),
    recordedAt: transaction.recordedAt,
    createdAt,
  };
}

/** The caller of the command, else the caller that the trading event names. */
export function creatorOf(transaction: LedgerTransaction, command: CommandHeader | undefined): Actor | null {
  return command?.createdBy ?? transaction.createdBy;
}
