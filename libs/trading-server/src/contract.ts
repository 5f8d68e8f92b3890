/**
 * The contract between kapi and a trading server (architecture, 1). A bridge to a trading platform
 * must implement the contract.
 *
 * Every change carries a `reference`. The first outcome of a reference (applied, refused or closed)
 * is final: the trading server keeps it forever, and returns it again. Settling returns the outcome
 * of a reference, or closes a reference without an outcome: its change can then never apply. Each
 * account's events have a gapless sequence. The answer to a change contains the event of the
 * change, if anything changed.
 */
import { z } from "zod";

import {
  AccountName,
  AccountNumber,
  Actor,
  Currency,
  Leverage,
  MAX_QUOTE_SYMBOLS,
  Minor,
  Password,
  Quote,
  ServerEntry,
  TradingEvent,
  Valuation,
} from "@kapi/contracts";

/** Maximum number of changes or references in one request. */
export const MAX_BATCH_SIZE = 200;
/** Maximum number of events in one answer of the history. */
export const MAX_HISTORY_LIMIT = 1_000;
/** Name of the header with the token of the trading server. */
export const TOKEN_HEADER = "x-internal-token";

/**
 * The name of a change: the command id, or for an immediate deletion an id that is derived from the
 * account. 1-128 visible ASCII characters. Unique per server, and never used again.
 */
export const Reference = z.string().regex(/^[\x21-\x7e]{1,128}$/);

const TRADING_STATUSES = ["active", "close_only", "disabled", "archived"] as const;
/** Status of an account as the trading server knows it; a deleted account has none. */
export const TradingStatus = z.enum(TRADING_STATUSES);
export type TradingStatus = z.infer<typeof TradingStatus>;

const Target = {
  reference: Reference,
  accountNumber: AccountNumber,
  /**
   * W3C trace parent of the change; a batch may mix traces. A value that is not a string is removed
   * here, and a server ignores a malformed string.
   */
  traceparent: z.string().optional().catch(undefined),
  /**
   * Who requested the change; all events of the change repeat this. Malformed values are ignored.
   */
  createdBy: Actor.optional().catch(undefined),
};

/** One change of one account. Money in minor units of the account's currency. */
export const Change = z.discriminatedUnion("type", [
  z.object({
    ...Target,
    type: z.literal("create"),
    accountName: AccountName,
    leverage: Leverage,
    currency: Currency,
    initialBalanceMinor: Minor.min(0),
    tradingPassword: Password,
    investorPassword: Password,
  }),
  z.object({
    ...Target,
    type: z.literal("update"),
    accountName: AccountName.optional(),
    leverage: Leverage.optional(),
  }),
  z.object({
    ...Target,
    type: z.literal("set_status"),
    /**
     * `close_only` also cancels the pending orders that would open or increase a position; the
     * event has their ids in `cancelled`.
     */
    status: TradingStatus,
    /**
     * True: also closes all positions, and cancels all pending orders. kapi sends this only with
     * `disabled`.
     */
    flatten: z.boolean().optional(),
  }),
  /** Closes all positions, and cancels all pending orders. */
  z.object({ ...Target, type: z.literal("flatten") }),
  z.object({
    ...Target,
    type: z.literal("set_password"),
    passwordKind: z.enum(["trading", "investor"]),
    password: Password,
  }),
  z.object({
    ...Target,
    type: z.literal("balance"),
    kind: z.enum(["deposit", "withdrawal"]),
    amountMinor: Minor.min(1),
    description: z.string().max(250).nullable(),
  }),
  z.object({
    ...Target,
    type: z.literal("delete"),
    /** True: open positions are closed at the market first. Otherwise they prevent the deletion. */
    closePositions: z.boolean().optional(),
  }),
]);
export type Change = z.infer<typeof Change>;

/** Why a trading server rejects a change. Final for its reference. */
export const REJECTION_CODES = [
  "ACCOUNT_NOT_FOUND",
  "ACCOUNT_EXISTS",
  "ACCOUNT_DISABLED",
  "ACCOUNT_ARCHIVED",
  "ACCOUNT_HAS_OPEN_POSITIONS",
  "INVALID_STATE_TRANSITION",
  "INSUFFICIENT_FUNDS",
  "LEVERAGE_NOT_SUPPORTED",
  "INVALID_CHANGE",
] as const;
export const RejectionCode = z.enum(REJECTION_CODES);
export type RejectionCode = z.infer<typeof RejectionCode>;

/** The outcome of a reference; final, except `incomplete`. */
export const Outcome = z.discriminatedUnion("status", [
  z.object({
    reference: Reference,
    status: z.literal("applied"),
    /** The event of the change; null: nothing changed. */
    event: TradingEvent.nullable(),
  }),
  z.object({ reference: Reference, status: z.literal("refused"), code: RejectionCode, message: z.string() }),
  z.object({ reference: Reference, status: z.literal("closed") }),
  /**
   * Some positions cannot be closed now. The same change continues when it is sent again. Settling
   * the reference rejects the change with ACCOUNT_HAS_OPEN_POSITIONS; closed positions stay closed.
   */
  z.object({ reference: Reference, status: z.literal("incomplete"), message: z.string() }),
]);
export type Outcome = z.infer<typeof Outcome>;

/** An account at this moment. */
export const AccountSnapshot = Valuation.extend({
  accountName: z.string(),
  leverage: z.int(),
  status: TradingStatus,
  currency: Currency,
  /** Sequence of the last event that the values include. */
  sequence: z.int().min(1),
});
export type AccountSnapshot = z.infer<typeof AccountSnapshot>;

/** The configuration that kapi sends; replaces the earlier one. */
export const ServerConfiguration = ServerEntry.shape.configuration;
export type ServerConfiguration = z.infer<typeof ServerConfiguration>;

/**
 * Body of POST /v1/servers/:serverId/changes. Each item is parsed as a {@link Change} by itself. An
 * invalid change with a valid reference is rejected with INVALID_CHANGE, and does not affect the
 * other changes.
 */
export const ChangesRequest = z.object({
  changes: z
    .array(z.looseObject({ reference: Reference }))
    .min(1)
    .max(MAX_BATCH_SIZE),
});
/** Body of POST /v1/servers/:serverId/settlements. */
export const SettlementsRequest = z.object({ references: z.array(Reference).min(1).max(MAX_BATCH_SIZE) });
/** Answer to both requests: an outcome for each change or reference, in order. */
export const OutcomesResponse = z.object({ outcomes: z.array(Outcome) });
/** Answer of GET /v1/servers/:serverId/accounts/:accountNumber. */
export const SnapshotResponse = z.object({ account: AccountSnapshot });
/**
 * Answer of GET /v1/servers/:serverId/accounts/:accountNumber/sequence; also for a deleted account.
 */
export const SequenceResponse = z.object({ sequence: z.int().min(1) });
/** Query of GET /v1/servers/:serverId/accounts/:accountNumber/history. */
export const HistoryQuery = z.object({
  since: z.coerce.number().pipe(z.int().min(0)).default(0),
  limit: z.coerce.number().pipe(z.int().min(1).max(MAX_HISTORY_LIMIT)).default(MAX_HISTORY_LIMIT),
});
/**
 * Answer of the history: at most `limit` events above `since`, in order, and the last sequence of
 * the account. If the account never existed, the server answers 404.
 */
export const HistoryResponse = z.object({ events: z.array(TradingEvent), lastSequence: z.int().min(0) });
export type History = z.infer<typeof HistoryResponse>;
/**
 * Answer of GET /v1/servers/:serverId/quotes (query: `QuotesQuery` of contracts): for each symbol
 * the last quote at or before `at`. A symbol is left out if it is unknown, has no such quote, or
 * the quote is no longer kept; no other quote is given in its place. Optional: a server without
 * quotes answers 404.
 */
export const QuotesResponse = z.object({ quotes: z.array(Quote).max(MAX_QUOTE_SYMBOLS) });
