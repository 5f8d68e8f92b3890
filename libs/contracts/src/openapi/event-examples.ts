import type { z } from "zod";

import type { RiskRule } from "../http/risk.ts";
import type { WebhookEvent, WebhookKind } from "../http/webhooks.ts";
import { ENDPOINT_ID } from "./webhook-examples.ts";

const ORGANIZATION_ID = "0197a3c2-5b1e-7c44-9f0e-2a8d4be61f01";
const SERVER_ID = "0197a3c2-6d20-7a10-8b3f-91c5e07d2a02";
const ACCOUNT_ID = "0197a3c4-01aa-7d35-a1c7-5e2f8a9b0c03";
const COMMAND_ID = "3b1f6a52-8c0d-5e77-b6a1-2f9d4c8e7a10";
const ACCOUNT_NUMBER = "10000042";
const AT = "2026-03-02T10:05:00.000Z";
const OPENED_AT = "2026-03-02T09:15:00.000Z";

type Event = z.input<typeof WebhookEvent>;
/** The `data` of the event `E` if `E` can have the kind `K`. */
type DataIn<E extends Event, K extends WebhookKind> = E extends unknown
  ? K extends E["type"]
    ? E["data"]
    : never
  : never;
type DataOf<K extends WebhookKind> = DataIn<Event, K>;

/** An id for each kind, so that no two examples share one. */
let events = 0;
const eventId = (): string => `9e107d9d-372b-5b6c-9f3e-1a2b3c4d5e${(events += 1).toString().padStart(2, "0")}`;

const ofOrganization = () => ({
  eventId: eventId(),
  organizationId: ORGANIZATION_ID,
  serverId: null,
  accountNumber: null,
  accountSequence: null,
});
const ofAccount = (accountSequence: number) => ({
  ...ofOrganization(),
  serverId: SERVER_ID,
  accountNumber: ACCOUNT_NUMBER,
  accountSequence,
});

const account = (accountSequence: number, version: number, status: DataOf<"account.created">["status"]) => ({
  ...ofAccount(accountSequence),
  accountId: ACCOUNT_ID,
  version,
  accountName: "Ada Obi",
  status,
  leverage: 100,
});
const order = { id: "5001", symbol: "EURUSD", side: "buy", orderType: "market", volume: 0.2, createdAt: OPENED_AT };
const position = {
  id: "7001",
  orderId: "5001",
  symbol: "EURUSD",
  side: "buy",
  volume: 0.2,
  closedVolume: 0,
  openPrice: 1.08421,
  openedAt: OPENED_AT,
};
const command = {
  ...ofAccount(1),
  accountSequence: null,
  commandId: COMMAND_ID,
  managedAccountId: ACCOUNT_ID,
  operation: "finance.withdraw",
  attempts: 1,
  result: null,
  resultOmitted: false,
  errorCode: null,
  errorMessage: null,
  createdBy: { type: "key", id: "mfrggzdfmztwq2lk" },
} as const;

/** The rule of all examples of risk. */
export const DAILY_LOSS: RiskRule = {
  id: "daily-5",
  type: "dailyLoss",
  limit: { percent: 5 },
  basis: "higher",
  timeZone: "Europe/Prague",
  dayStart: "00:00",
  warnAt: 80,
  action: "disable",
};

const dailyLoss = (id: string) => ({
  ...ofAccount(1),
  accountSequence: null,
  id,
  rule: DAILY_LOSS,
  ruleVersion: 1,
  period: "2026-03-02",
  reference: 10_250.5,
  balance: 10_250.5,
  measuredAt: AT,
  action: "disable" as const,
});

/**
 * The data of the examples. Those with an `accountSequence` are the history of one account. Some of
 * its events have no example: 2 (the transaction of the initial balance), 6 and 7 (other events of
 * the position's opening), 10 to 12 (events of its partial close), and 16 (the order of its final
 * close).
 */
const DATA: { readonly [K in WebhookKind]: DataOf<K> } = {
  "account.created": account(1, 1, "active"),
  "account.updated": { ...account(3, 2, "active"), leverage: 200 },
  "account.enabled": account(22, 6, "active"),
  "account.close_only": account(20, 4, "close_only"),
  "account.disabled": account(21, 5, "disabled"),
  "account.archived": account(23, 7, "archived"),
  "account.deleted": account(24, 8, "deleted"),
  "account.password_changed": { ...account(4, 3, "active"), passwordKind: "trading" },
  "order.executed": { ...ofAccount(5), ...order, status: "executed", executedAt: OPENED_AT },
  "order.cancelled": {
    ...ofAccount(9),
    ...order,
    id: "5002",
    orderType: "limit",
    status: "cancelled",
    executedAt: null,
  },
  "position.opened": { ...ofAccount(8), ...position, status: "open", closedAt: null },
  "position.updated": { ...ofAccount(13), ...position, closedVolume: 0.05, status: "open", closedAt: null },
  "position.closed": {
    ...ofAccount(19),
    ...position,
    closedVolume: 0.2,
    status: "closed",
    closedAt: AT,
    dealIds: ["9001", "9002", "9003"],
    openPositionCount: 1,
  },
  "deal.executed": {
    ...ofAccount(17),
    id: "9003",
    orderId: "5003",
    positionId: "7001",
    symbol: "EURUSD",
    side: "sell",
    kind: "exit",
    volume: 0.15,
    price: 1.08533,
    commission: 0,
    realizedPnl: 16.8,
    swap: 0,
    executedAt: AT,
  },
  "transaction.recorded": {
    ...ofAccount(18),
    id: "0197a4c1-2d3e-7f40-8a51-6b7c8d9e0f11",
    accountNumber: ACCOUNT_NUMBER,
    sequence: 4,
    type: "realized_pnl",
    amount: 16.8,
    currency: "USD",
    balanceBefore: 1_000,
    balanceAfter: 1_016.8,
    description: null,
    requestId: null,
    commandId: null,
    orderId: "5003",
    positionId: "7001",
    dealId: "9003",
    reversalOf: null,
    createdBy: null,
    recordedAt: AT,
    createdAt: AT,
  },
  "margin.call": { ...ofAccount(14), equity: 1_240.5, usedMargin: 1_650.1, marginLevel: 75.18 },
  "margin.stop_out": { ...ofAccount(15), equity: 812.4, usedMargin: 1_650.1, marginLevel: 49.23 },
  "risk.breached": {
    ...dailyLoss("5f0b1f86-6f43-5d6f-9a55-6a2c3c1f9b10"),
    threshold: 9_737.97,
    value: 9_735.1,
    equity: 9_735.1,
    commandId: "b2f7c1de-94a3-5e68-8c15-3d9e6f70a104",
  },
  "risk.warning": {
    ...dailyLoss("0c3a7d52-1e0b-5c7a-8f4e-9b2d6a1c7e21"),
    threshold: 9_737.97,
    value: 9_839.2,
    equity: 9_839.2,
    commandId: null,
  },
  "risk.evidence_stored": {
    ...dailyLoss("5f0b1f86-6f43-5d6f-9a55-6a2c3c1f9b10"),
    threshold: 9_737.97,
    value: 9_735.1,
    equity: 9_735.1,
    commandId: "b2f7c1de-94a3-5e68-8c15-3d9e6f70a104",
    recordedAt: AT,
    evidence: { status: "stored", sequence: 512, extremeValue: 9_730.4, extremeAt: AT },
  },
  "credits.low_balance": { ...ofOrganization(), availableCredits: 998, lowBalanceThreshold: 1_000 },
  "webhook.test": { ...ofOrganization(), endpointId: ENDPOINT_ID },
  "command.succeeded": {
    ...command,
    eventId: eventId(),
    status: "succeeded",
    result: { transactionId: "0197a4c1-2d3e-7f40-8a51-6b7c8d9e0f12", balanceAfter: 950 },
  },
  "command.failed": {
    ...command,
    eventId: eventId(),
    status: "failed",
    errorCode: "INSUFFICIENT_FUNDS",
    errorMessage: "The withdrawal is larger than the free margin",
  },
  "command.expired": {
    ...command,
    eventId: eventId(),
    status: "expired",
    attempts: 0,
    errorCode: null,
    errorMessage: "The command was not carried out before its deadline",
  },
};

/** One event of each kind, as a receiver gets it. */
export const EVENT_EXAMPLES = Object.fromEntries(
  Object.entries(DATA).map(([type, data]) => [type, { type, timestamp: AT, data }]),
) as { readonly [K in WebhookKind]: { readonly type: K; readonly timestamp: string; readonly data: DataOf<K> } };
