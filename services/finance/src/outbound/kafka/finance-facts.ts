import {
  accountKey,
  type Actor,
  type CommandHeader,
  type FinanceFact,
  TOPICS,
  type Transaction,
} from "@kapi/contracts";
import { amountFromMinor } from "@kapi/kernel";
import type { OutboxMessage } from "@kapi/outbox";

import type { LedgerAccount, LedgerTransaction } from "../../domain/ledger.ts";

/**
 * The fact that a row of the ledger was committed, for `finance.events`. Its event id is the
 * transaction's; `command` is what moved the money.
 */
export function toFactMessage(
  account: LedgerAccount,
  transaction: LedgerTransaction,
  command: CommandHeader | undefined,
  createdAt: string,
): OutboxMessage {
  const { serverId, accountNumber } = transaction;
  const fact: FinanceFact = {
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
  return { topic: TOPICS.financeEvents, key, value: JSON.stringify(fact), traceparent };
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

/** Who asked for a transaction: the command tells, else the trading server's event. */
export function creatorOf(transaction: LedgerTransaction, command: CommandHeader | undefined): Actor | null {
  return command?.createdBy ?? transaction.createdBy;
}
