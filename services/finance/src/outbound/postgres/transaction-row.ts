import { actorFromText, type Transaction } from "@kapi/contracts";
import { amountFromMinor } from "@kapi/kernel";

import type { TransactionRow } from "./read-statements.ts";

/** A transaction as the API shows it (decisions, 6.2): amounts in units of currency. */
export function fromRow(row: TransactionRow): Transaction {
  return {
    id: row.id,
    accountNumber: row.account_number,
    sequence: row.sequence,
    type: row.type,
    amount: amountFromMinor(row.amount_minor),
    currency: row.currency,
    balanceBefore: amountFromMinor(row.balance_before_minor),
    balanceAfter: amountFromMinor(row.balance_after_minor),
    description: row.description,
    requestId: row.request_id,
    commandId: row.command_id,
    orderId: row.order_id,
    positionId: row.position_id,
    dealId: row.deal_id,
    reversalOf: row.reversal_of,
    createdBy: actorFromText(row.created_by),
    recordedAt: row.recorded_at.toISOString(),
    createdAt: row.created_at.toISOString(),
  };
}
