/**
 * The records of docs/reference/interface.md and docs/decisions as strict schemas, transcribed by
 * hand. Any other field is an error.
 */
import { z } from "zod";

import { BreachEvidence, IntervalEvidence } from "./evidence-shapes.ts";
import { Breach, RiskRules, RiskTemplate } from "./risk-shapes.ts";

const uuid = z.guid();
const time = z.iso.datetime();
const timeOrNull = time.nullable();
const text = z.string();
const textOrNull = text.nullable();
const integer = z.int();
const number = z.number();

export const Wallet = z.strictObject({
  id: uuid,
  organizationId: uuid,
  availableCredits: integer,
  reservedCredits: integer,
  lifetimePurchased: integer,
  lifetimeConsumed: integer,
  lowBalanceThreshold: integer,
  createdAt: time,
  updatedAt: time,
  lowBalance: z.boolean(),
});

export const Server = z.strictObject({
  serverId: text,
  serverName: text,
  companyName: text,
  currency: z.enum(["USD", "NGN"]),
  currencySymbol: text,
  environment: z.enum(["demo", "real"]),
  supportedLeverage: z.array(integer).min(1),
  defaultLeverage: integer.min(1).nullable(),
  status: z.enum(["active", "disabled"]),
});

/** Decisions, 3.3. */
const Actor = z.strictObject({ type: z.enum(["key", "user", "system"]), id: text.min(1) });

/** The last six fields are in the decisions, not in the interface page (decisions, 3.3). */
export const Command = z.strictObject({
  id: uuid,
  operation: z.enum([
    "account.create",
    "account.update",
    "account.enable",
    "account.disable",
    "account.archive",
    "account.delete",
    "account.flatten",
    "account.close_only",
    "account.password_reset",
    "account.investor_password_reset",
    "account.history_export",
    "finance.deposit",
    "finance.withdraw",
    "risk.set_rules",
    "risk.delete_rules",
    "risk.set_template",
    "risk.delete_template",
  ]),
  status: z.enum(["queued", "leased", "succeeded", "failed", "expired"]),
  // Null for a command on a risk template or on an unknown account (decisions, 3.3).
  managedAccountId: uuid.nullable(),
  attempts: integer,
  payload: z.record(z.string(), z.unknown()),
  result: z.record(z.string(), z.unknown()).nullable(),
  errorCode: textOrNull,
  errorMessage: textOrNull,
  idempotencyKey: text.min(1),
  createdAt: time,
  completedAt: timeOrNull,
  requestId: text,
  serverId: uuid,
  accountNumber: textOrNull,
  updatedAt: time,
  deadlineAt: time,
  createdBy: Actor,
});

const plainEnvelope = { command: Command, duplicate: z.boolean() };
export const Envelope = z.strictObject(plainEnvelope);
export const CreationEnvelope = z.strictObject({
  ...plainEnvelope,
  credentials: z.strictObject({ tradingPassword: text, investorPassword: text }),
});
export const PasswordEnvelope = z.strictObject({ ...plainEnvelope, password: text.min(8).max(128) });

/** Decisions, 4.1. */
export const TradingAccount = z.strictObject({
  id: uuid,
  organizationId: uuid,
  serverId: uuid,
  accountNumber: text.regex(/^[A-Za-z0-9_-]{4,32}$/),
  accountName: text,
  status: z.enum(["pending", "active", "failed", "close_only", "disabled", "archived", "deleting"]),
  statusReason: textOrNull,
  environment: z.enum(["demo", "real"]),
  currency: z.enum(["USD", "NGN"]),
  currencySymbol: text,
  leverage: integer,
  initialBalance: number,
  balance: number,
  equity: number,
  usedMargin: number,
  freeMargin: number,
  marginLevel: number.nullable(),
  unrealizedProfit: number,
  openPositionCount: integer,
  metricsSequence: integer,
  metricsMeasuredAt: timeOrNull,
  version: integer,
  createdAt: time,
  updatedAt: time,
  activatedAt: timeOrNull,
  disabledAt: timeOrNull,
  archivedAt: timeOrNull,
});

/** Decisions, 4.4. */
export const Credentials = z.strictObject({
  login: text,
  serverId: uuid,
  serverName: text,
  tradingPasswordSet: z.boolean(),
  investorPasswordSet: z.boolean(),
  tradingPasswordChangedAt: timeOrNull,
  investorPasswordChangedAt: timeOrNull,
});

/** Decisions, 6.2. */
export const Transaction = z.strictObject({
  id: uuid,
  accountNumber: text,
  sequence: integer.min(1),
  type: z.enum([
    "initial_balance",
    "deposit",
    "withdrawal",
    "realized_pnl",
    "commission",
    "swap",
    "adjustment",
    "reversal",
  ]),
  amount: number,
  currency: z.enum(["USD", "NGN"]),
  balanceBefore: number,
  balanceAfter: number,
  description: textOrNull,
  requestId: textOrNull,
  commandId: uuid.nullable(),
  orderId: textOrNull,
  positionId: textOrNull,
  dealId: textOrNull,
  reversalOf: uuid.nullable(),
  // Who caused the change; null for changes by the market.
  createdBy: Actor.nullable(),
  recordedAt: time,
  createdAt: time,
});

export const Order = z.strictObject({
  id: text,
  symbol: text,
  side: text,
  orderType: text,
  volume: number,
  status: text,
  createdAt: time,
  executedAt: timeOrNull,
});

export const Position = z.strictObject({
  id: text,
  orderId: text,
  symbol: text,
  side: text,
  volume: number,
  closedVolume: number,
  openPrice: number,
  status: text,
  openedAt: time,
  closedAt: timeOrNull,
});

/** Decisions, 4.12. */
const AccountState = z.strictObject({
  serverId: uuid,
  accountNumber: text,
  at: time,
  currency: z.enum(["USD", "NGN"]),
  balance: number,
  positionCount: integer.min(0),
  positions: z.array(Position.omit({ status: true, closedAt: true })),
  equity: z.strictObject({ value: number, measuredAt: time, ageMs: integer.min(0) }).nullable(),
});

export const Deal = z.strictObject({
  id: text,
  orderId: text,
  positionId: text,
  symbol: text,
  side: text,
  kind: text,
  volume: number,
  price: number,
  commission: number,
  realizedPnl: number,
  swap: number,
  executedAt: time,
});

export const Pagination = z.strictObject({
  page: integer.min(1),
  limit: integer.min(1).max(100),
  total: integer,
  totalPages: integer,
  // Decisions, 14.
  nextCursor: textOrNull,
});

export const Snapshot = z.strictObject({
  id: uuid,
  organizationId: uuid,
  serverId: uuid,
  accountNumber: text,
  eventId: text,
  sequence: integer,
  balance: number,
  equity: number,
  usedMargin: number,
  freeMargin: number,
  marginLevel: number,
  unrealizedProfit: number,
  dailyDrawdown: number.min(0),
  totalDrawdown: number.min(0),
  accountStatus: text,
  measuredAt: time,
  createdAt: time,
});

/** Decisions, 7.4. */
const Usage = z.strictObject({
  xRequestId: textOrNull,
  operation: text,
  credits: integer,
  commandId: uuid.nullable(),
  at: time,
  createdBy: Actor,
});

const Prices = z.strictObject({
  read: integer,
  mutation: integer,
  create: integer,
  bulkItem: integer,
  export: integer,
  liveConnection: integer,
});

/** Decisions, 8. */
export const HistoryExport = z.strictObject({
  from: timeOrNull,
  to: timeOrNull,
  recordCount: integer,
  truncated: z.boolean(),
  records: z.array(
    z.union([
      Transaction.extend({ kind: z.literal("transaction") }),
      Order.extend({ kind: z.literal("order") }),
      Position.extend({ kind: z.literal("position") }),
      Deal.extend({ kind: z.literal("deal"), dealKind: text }),
    ]),
  ),
});

/** Decisions, 21.1. */
const hash = z.string().regex(/^[0-9a-f]{64}$/);
const Digest = z.strictObject({
  accountNumber: text,
  date: z.iso.date(),
  currency: z.enum(["USD", "NGN"]),
  closingBalance: number,
  transactions: z.strictObject({ count: integer, amount: number, hash }),
  deals: z.strictObject({ count: integer, commission: number, realizedPnl: number, swap: number, hash }),
  hash,
  revision: integer.min(1),
  createdAt: time,
  revisedAt: timeOrNull,
});

/** Body of every error. Only an error about parameters or fields has `issues` (decisions, 1.2). */
export const ErrorBody = z.strictObject({
  error: text.min(1),
  code: z.string().regex(/^[A-Z_]+$/),
  requestId: text.min(1),
  issues: z
    .array(z.strictObject({ path: z.array(z.union([text, integer])), code: text.min(1), message: text.min(1) }))
    .min(1)
    .optional(),
});

const page = <T extends z.ZodType>(name: string, record: T) =>
  z.strictObject({ [name]: z.array(record), pagination: Pagination });

/** Responses of synchronous operations, by the operation's name. */
export const ANSWERS: Readonly<Record<string, z.ZodType>> = {
  getCreditBalance: z.strictObject({ wallet: Wallet }),
  getServerConfiguration: z.strictObject({ server: Server }),
  updateServerConfiguration: z.strictObject({ server: Server }),
  listTradingAccounts: z.strictObject({ accounts: z.array(TradingAccount).min(1) }),
  getTradingAccount: z.strictObject({ account: TradingAccount, credentials: Credentials }),
  deleteTradingAccountImmediately: z.strictObject({ accountNumber: text, deleted: z.literal(true) }),
  listTradingAccountTransactions: page("transactions", Transaction),
  listTradingAccountOrders: page("orders", Order),
  "list account positions": page("positions", Position),
  "list account deals": page("deals", Deal),
  getCommand: z.strictObject({ command: Command }),
  "List account metrics": z.strictObject({ snapshots: z.array(Snapshot) }),
  "List commands": page("commands", Command),
  "Get credit prices": z.strictObject({ prices: Prices }),
  "List credit usage": page("usage", Usage),
  "Get account state": z.strictObject({ state: AccountState }),
  "List daily digests": page("digests", Digest).extend({ date: z.iso.date() }),
  "Get risk rules": z.strictObject({ riskRules: RiskRules }),
  "List risk templates": z.strictObject({ riskTemplates: z.array(RiskTemplate).min(1) }),
  "Get risk template": z.strictObject({ riskTemplate: RiskTemplate }),
  "List risk breaches": page("breaches", Breach),
  "Get breach evidence": BreachEvidence,
  "Get interval evidence": IntervalEvidence,
};
