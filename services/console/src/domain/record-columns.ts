/** The columns of exports about one account, in their order. */
import type { Command, Deal, Order, Position, Transaction } from "@kapi/contracts";

import { type CsvCell, moneyCell, numberCell } from "./csv.ts";

/** A column of an export: its name, and the function that returns the cell of a record. */
export type CsvColumn<Row> = readonly [name: string, cell: (row: Row) => CsvCell];

export const TRANSACTION_COLUMNS: readonly CsvColumn<Transaction>[] = [
  ["recorded", ({ recordedAt }) => recordedAt],
  ["type", ({ type }) => type],
  ["amount", ({ amount }) => moneyCell(amount)],
  ["currency", ({ currency }) => currency],
  ["balance before", ({ balanceBefore }) => moneyCell(balanceBefore)],
  ["balance after", ({ balanceAfter }) => moneyCell(balanceAfter)],
  ["description", ({ description }) => description],
  ["request id", ({ requestId }) => requestId],
  ["command id", ({ commandId }) => commandId],
  ["order id", ({ orderId }) => orderId],
  ["position id", ({ positionId }) => positionId],
  ["deal id", ({ dealId }) => dealId],
  ["reversal of", ({ reversalOf }) => reversalOf],
  ["transaction id", ({ id }) => id],
];

export const DEAL_COLUMNS: readonly CsvColumn<Deal>[] = [
  ["executed", ({ executedAt }) => executedAt],
  ["symbol", ({ symbol }) => symbol],
  ["side", ({ side }) => side],
  ["kind", ({ kind }) => kind],
  ["volume (lots)", ({ volume }) => numberCell(volume)],
  ["price", ({ price }) => numberCell(price)],
  ["realized profit", ({ realizedPnl }) => moneyCell(realizedPnl)],
  ["commission", ({ commission }) => moneyCell(commission)],
  ["swap", ({ swap }) => moneyCell(swap)],
  ["deal id", ({ id }) => id],
  ["order id", ({ orderId }) => orderId],
  ["position id", ({ positionId }) => positionId],
];

export const ORDER_COLUMNS: readonly CsvColumn<Order>[] = [
  ["created", ({ createdAt }) => createdAt],
  ["executed", ({ executedAt }) => executedAt],
  ["symbol", ({ symbol }) => symbol],
  ["side", ({ side }) => side],
  ["type", ({ orderType }) => orderType],
  ["volume (lots)", ({ volume }) => numberCell(volume)],
  ["state", ({ status }) => status],
  ["order id", ({ id }) => id],
];

export const POSITION_COLUMNS: readonly CsvColumn<Position>[] = [
  ["opened", ({ openedAt }) => openedAt],
  ["closed", ({ closedAt }) => closedAt],
  ["symbol", ({ symbol }) => symbol],
  ["side", ({ side }) => side],
  ["volume (lots)", ({ volume }) => numberCell(volume)],
  ["closed volume (lots)", ({ closedVolume }) => numberCell(closedVolume)],
  ["open price", ({ openPrice }) => numberCell(openPrice)],
  ["state", ({ status }) => status],
  ["position id", ({ id }) => id],
  ["order id", ({ orderId }) => orderId],
];

export const COMMAND_COLUMNS: readonly CsvColumn<Command>[] = [
  ["accepted", ({ createdAt }) => createdAt],
  ["completed", ({ completedAt }) => completedAt ?? null],
  ["operation", ({ operation }) => operation],
  ["state", ({ status }) => status],
  ["amount", ({ payload }) => amountCell(payload?.["amount"])],
  ["error", ({ errorCode }) => errorCode],
  ["error text", ({ errorMessage }) => errorMessage ?? null],
  ["request id", ({ requestId }) => requestId ?? null],
  ["idempotency key", ({ idempotencyKey }) => idempotencyKey],
  ["command id", ({ id }) => id],
];

function amountCell(amount: unknown): CsvCell {
  return typeof amount === "number" ? moneyCell(amount) : null;
}
