import { expect, it } from "vitest";

import { type Actor, actorFromText, actorToText } from "./actor.ts";
import { Command } from "./http/commands.ts";
import { CreditUsage } from "./http/credits.ts";
import { Transaction } from "./http/finance.ts";
import { CommandEvent } from "./messages/command-event.ts";
import { CommandMessage, queuedCommand } from "./messages/command-message.ts";
import { FinanceEvent } from "./messages/domain-events.ts";
import { TradingEvent } from "./messages/trading-event.ts";

const KEY: Actor = { type: "key", id: "ABCDEFGHIJKLMNOP" };
const AT = "2026-03-02T10:05:00.000Z";
const ID = "3b1f6a52-8c0d-5e77-b6a1-2f9d4c8e7a10";

it.each([KEY, { type: "user", id: ID }, null] as const)("%j survives the conversion to text and back", (actor) => {
  expect(actorFromText(actorToText(actor))).toEqual(actor);
});

it.each(["robot/7", "key/", "key", "keys", ""])("the text %j names no actor", (text) => {
  expect(actorFromText(text)).toBeNull();
});

const MESSAGE = {
  commandId: ID,
  organizationId: ID,
  serverId: ID,
  accountNumber: "10000042",
  managedAccountId: null,
  operation: "finance.deposit",
  requestId: "r",
  idempotencyKey: "k",
  fingerprint: "f".repeat(64),
  payload: { amount: 1 },
  sealedPassword: null,
  derivationKeyId: null,
  reservedCredits: 5,
  createdAt: AT,
  deadlineAt: AT,
} as const;
const TRANSACTION = {
  id: ID,
  accountNumber: "10000042",
  sequence: 1,
  type: "deposit",
  amount: 1,
  currency: "USD",
  balanceBefore: 0,
  balanceAfter: 1,
  description: null,
  requestId: null,
  commandId: null,
  orderId: null,
  positionId: null,
  dealId: null,
  reversalOf: null,
  recordedAt: AT,
  createdAt: AT,
} as const;
const EVENT = {
  commandId: ID,
  organizationId: ID,
  serverId: ID,
  accountNumber: null,
  managedAccountId: null,
  operation: "finance.deposit",
  version: 1,
  status: "succeeded",
  attempts: 1,
  result: null,
  errorCode: null,
  errorMessage: null,
  settlement: null,
  occurredAt: AT,
} as const;
const TRADING_EVENT = {
  eventId: ID,
  serverId: ID,
  accountNumber: "10000042",
  sequence: 1,
  occurredAt: AT,
  reference: ID,
  balanceMinor: 0,
  openPositionCount: 0,
  type: "account.deleted",
} as const;
const USAGE = { xRequestId: "r", operation: "getCommand", credits: 1, commandId: null, at: AT } as const;

it.each([
  ["a command message", CommandMessage, MESSAGE],
  ["a command", Command, queuedCommand(MESSAGE)],
  ["an event of a command", CommandEvent, EVENT],
  ["a transaction", Transaction, TRANSACTION],
  ["a usage line", CreditUsage, USAGE],
  ["an event of a trading server", TradingEvent, TRADING_EVENT],
] as const)("%s is parsed with and without createdBy", (_name, schema, record) => {
  const { createdBy: _none, ...earlier } = { createdBy: null, ...record };
  expect(schema.parse(earlier)).not.toHaveProperty("createdBy.id");
  expect(schema.parse({ ...record, createdBy: KEY })).toHaveProperty("createdBy", KEY);
});

const FINANCE_EVENT = {
  eventId: ID,
  organizationId: ID,
  serverId: ID,
  accountNumber: "10000042",
  occurredAt: AT,
  type: "transaction.recorded",
} as const;
const UNREADABLE = [
  null,
  { type: "robot", id: "7" },
  { type: "key", id: "k".repeat(65) },
  { type: "key", id: "" },
  "key/a",
];

it.each([
  ["a command message", (createdBy: unknown) => CommandMessage.parse({ ...MESSAGE, createdBy })],
  ["an event of a command", (createdBy: unknown) => CommandEvent.parse({ ...EVENT, createdBy })],
  ["an event of a trading server", (createdBy: unknown) => TradingEvent.parse({ ...TRADING_EVENT, createdBy })],
  [
    "an event of finance",
    (createdBy: unknown) =>
      FinanceEvent.parse({ ...FINANCE_EVENT, transaction: { ...TRANSACTION, createdBy } }).transaction,
  ],
] as const)("%s with an unreadable createdBy is parsed without it", (_name, parse) => {
  for (const createdBy of UNREADABLE) expect(parse(createdBy).createdBy ?? null).toBeNull();
  expect(parse(KEY).createdBy).toEqual(KEY);
});

it.each(["a".repeat(65), 7, {}])("messages with the invalid address %j are parsed without it", (callerAddress) => {
  expect(CommandMessage.parse({ ...MESSAGE, callerAddress }).callerAddress).toBeNull();
  expect(CommandEvent.parse({ ...EVENT, callerAddress }).callerAddress).toBeNull();
});

it("a queued command has the createdBy of its message", () => {
  expect(queuedCommand({ ...MESSAGE, createdBy: KEY }).createdBy).toEqual(KEY);
  expect(queuedCommand(MESSAGE).createdBy).toBeNull();
});
