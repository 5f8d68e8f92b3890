/** Events as other services publish them. */
import { randomUUID } from "node:crypto";

import { anyAccountNumber } from "@kapi/testkit";

const AT = "2026-03-02T10:04:00.000Z";

interface Owner {
  readonly organizationId: string;
  readonly serverId: string;
  readonly accountNumber: string;
}

/** An account of a new organization. */
export function anyOwner(): Owner {
  return { organizationId: randomUUID(), serverId: randomUUID(), accountNumber: anyAccountNumber() };
}

function envelope(owner: Partial<Owner>, occurredAt: string) {
  return { eventId: randomUUID(), ...anyOwner(), ...owner, occurredAt, accountSequence: 1 };
}

export function account(type: string, owner: Partial<Owner> = {}, occurredAt = AT) {
  const kind = type === "account.password_changed" ? { passwordKind: "trading" as const } : {};
  const record = { accountId: randomUUID(), version: 1, accountName: "Evaluation", status: "active", leverage: 100 };
  return { ...envelope(owner, occurredAt), type, ...record, ...kind };
}

export function order(type: string, owner: Partial<Owner> = {}, occurredAt = AT) {
  const record = { id: "5001", symbol: "EURUSD", side: "buy", orderType: "market", volume: 0.1, status: "executed" };
  return { ...envelope(owner, occurredAt), type, order: { ...record, createdAt: AT, executedAt: AT } };
}

export function position(type: string, owner: Partial<Owner> = {}, occurredAt = AT) {
  const record = { id: "7001", orderId: "5001", symbol: "EURUSD", side: "buy", volume: 0.1, openPrice: 1.08421 };
  const closed = type === "position.closed";
  const closedVolume = closed ? record.volume : 0;
  const end = closed ? { dealIds: ["9001", "9002"], openPositionCount: 0 } : {};
  const status = closed ? "closed" : "open";
  return {
    ...envelope(owner, occurredAt),
    type,
    position: { ...record, closedVolume, status, openedAt: AT, closedAt: closed ? AT : null },
    ...end,
  };
}

export function deal(owner: Partial<Owner> = {}, occurredAt = AT) {
  const names = { id: "9001", orderId: "5001", positionId: "7001", symbol: "EURUSD", side: "buy", kind: "entry" };
  const amounts = { volume: 0.1, price: 1.08421, commission: -0.35, realizedPnl: 0, swap: 0 };
  return { ...envelope(owner, occurredAt), type: "deal.executed", deal: { ...names, ...amounts, executedAt: AT } };
}

export function transaction(owner: Partial<Owner> = {}, occurredAt = AT) {
  const { accountSequence: _none, ...common } = envelope(owner, occurredAt);
  const none = { orderId: null, positionId: null, dealId: null, reversalOf: null };
  const record = {
    id: common.eventId,
    accountNumber: common.accountNumber,
    sequence: 1,
    type: "deposit",
    amount: 250.5,
    currency: "USD",
    balanceBefore: 10_000,
    balanceAfter: 10_250.5,
    description: null,
    requestId: "request-1",
    commandId: randomUUID(),
    recordedAt: AT,
    createdAt: AT,
  };
  return { ...common, type: "transaction.recorded", transaction: { ...record, ...none } };
}

export function commandEvent(change: object, owner: Partial<Owner> = {}) {
  return {
    commandId: randomUUID(),
    ...anyOwner(),
    ...owner,
    managedAccountId: randomUUID(),
    operation: "finance.deposit",
    version: 2,
    status: "succeeded",
    attempts: 1,
    result: { transactionId: randomUUID(), balanceAfter: 100 },
    errorCode: null,
    errorMessage: null,
    settlement: null,
    occurredAt: AT,
    ...change,
  };
}

export function lowBalance(organizationId: string, occurredAt = AT) {
  const common = { eventId: randomUUID(), organizationId, occurredAt };
  return { ...common, type: "credits.low_balance", availableCredits: 5, lowBalanceThreshold: 10 };
}
