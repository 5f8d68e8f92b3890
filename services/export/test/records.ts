import { randomUUID } from "node:crypto";

import type { ExportRecord } from "@kapi/contracts";

type Kind<K extends ExportRecord["kind"]> = Extract<ExportRecord, { kind: K }>;

/** A deposit as the finance service returns it. */
export function transaction(at: string, overrides: Partial<Kind<"transaction">> = {}): Kind<"transaction"> {
  return {
    kind: "transaction",
    id: randomUUID(),
    accountNumber: "10000001",
    sequence: 1,
    type: "deposit",
    amount: 100,
    currency: "USD",
    balanceBefore: 0,
    balanceAfter: 100,
    description: null,
    requestId: null,
    commandId: null,
    orderId: null,
    positionId: null,
    dealId: null,
    reversalOf: null,
    recordedAt: at,
    createdAt: at,
    ...overrides,
  };
}

const TRADE = { symbol: "EURUSD", side: "buy", volume: 0.1 };

/** An executed market order. */
export function order(createdAt: string): Kind<"order"> {
  return {
    kind: "order",
    id: randomUUID(),
    ...TRADE,
    orderType: "market",
    status: "executed",
    createdAt,
    executedAt: createdAt,
  };
}

/** An open position. */
export function position(openedAt: string): Kind<"position"> {
  const id = randomUUID();
  const price = { openPrice: 1.1, closedVolume: 0 };
  return { kind: "position", id, orderId: id, ...TRADE, ...price, status: "open", openedAt, closedAt: null };
}

/** A deal that opened a position. The kind of a deal is `dealKind`. */
export function deal(executedAt: string): Kind<"deal"> {
  const id = randomUUID();
  const money = { price: 1.1, commission: -0.35, realizedPnl: 0, swap: 0 };
  return { kind: "deal", dealKind: "entry", id, orderId: id, positionId: id, ...TRADE, ...money, executedAt };
}
