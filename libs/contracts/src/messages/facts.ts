import { z } from "zod";

import { MessageCreatedBy } from "../actor.ts";
import { ACCOUNT_STATUSES } from "../http/accounts.ts";
import { Transaction } from "../http/finance.ts";
import { Deal, Order, PositionMessage } from "../http/history.ts";

/**
 * Where a fact stands among the events of the trading server, so that the facts that account and
 * finance make of an account can be put in the order of those events. Sequences of the trading
 * server.
 */
export const FactPlace = z.object({
  /** With this fact, its service has announced everything up to here. */
  through: z.int().min(0),
  /** The fact comes after everything that the other service announces up to here. */
  after: z.int().min(0),
});
export type FactPlace = z.infer<typeof FactPlace>;

/** What every committed fact of an account carries. */
const Fact = {
  eventId: z.uuid(),
  organizationId: z.uuid(),
  serverId: z.guid(),
  accountNumber: z.string(),
  occurredAt: z.iso.datetime(),
  /** 0.1.0 leaves it out. */
  place: FactPlace.optional(),
};

/** What every fact of `account.events` carries besides. */
const OfAccount = {
  ...Fact,
  /** Counts the account's facts of all kinds, from 1, without a gap (decisions, 11). */
  accountSequence: z.int().min(1),
};

/** The account as it is after the fact. */
const AccountRecord = {
  accountId: z.uuid(),
  /** The account's `version` after it. */
  version: z.int().min(1),
  accountName: z.string(),
  status: z.enum([...ACCOUNT_STATUSES, "deleted"]),
  leverage: z.int(),
};

/** A record of `account.events`: a fact that the account service has committed. */
export const AccountFact = z.discriminatedUnion("type", [
  z.object({
    ...OfAccount,
    type: z.enum([
      "account.created",
      "account.updated",
      "account.enabled",
      "account.disabled",
      "account.archived",
      "account.deleted",
    ]),
    ...AccountRecord,
  }),
  z.object({
    ...OfAccount,
    type: z.literal("account.password_changed"),
    ...AccountRecord,
    passwordKind: z.enum(["trading", "investor"]),
  }),
  // What happened on the account: each record as the API shows it after the fact.
  z.object({ ...OfAccount, type: z.enum(["order.executed", "order.cancelled"]), order: Order }),
  // position.updated: a partial close.
  z.object({ ...OfAccount, type: z.enum(["position.opened", "position.updated"]), position: PositionMessage }),
  z.object({
    ...OfAccount,
    type: z.literal("position.closed"),
    position: PositionMessage,
    /** Every deal of the position, in the order of their execution. */
    dealIds: z.array(z.string()),
    /** Positions of the account that are open after it. */
    openPositionCount: z.int().min(0),
  }),
  z.object({ ...OfAccount, type: z.literal("deal.executed"), deal: Deal }),
  z.object({
    ...OfAccount,
    type: z.enum(["margin.call", "margin.stop_out"]),
    equity: z.number(),
    usedMargin: z.number(),
    /** Percent. */
    marginLevel: z.number(),
  }),
]);
export type AccountFact = z.infer<typeof AccountFact>;

/** A record of `finance.events`: a ledger row that the finance service has committed. */
export const FinanceFact = z.object({
  ...Fact,
  type: z.literal("transaction.recorded"),
  transaction: Transaction.extend({ createdBy: MessageCreatedBy }),
});
export type FinanceFact = z.infer<typeof FinanceFact>;

/** A record of `credits.events`. */
export const CreditsFact = z.object({
  eventId: z.uuid(),
  organizationId: z.uuid(),
  occurredAt: z.iso.datetime(),
  type: z.literal("credits.low_balance"),
  availableCredits: z.int(),
  lowBalanceThreshold: z.int(),
});
export type CreditsFact = z.infer<typeof CreditsFact>;
