/**
 * Domain events: committed changes that the account, finance, risk and organization services
 * publish on `account.events`, `finance.events`, `risk.events` and `credits.events`.
 */
import { z } from "zod";

import { MessageCreatedBy } from "../actor.ts";
import { ACCOUNT_STATUSES } from "../http/accounts.ts";
import { Transaction } from "../http/finance.ts";
import { Deal, Order, PositionMessage } from "../http/history.ts";
import { RiskAlert, RiskBreach } from "../http/risk.ts";

/**
 * The place of an account's event among the account's trading events. The webhooks service merges
 * account events and finance events in this order. Both numbers are sequences of the trading
 * server.
 */
export const EventPlace = z.object({
  /** With this event, its service has announced everything up to this sequence. */
  through: z.int().min(0),
  /** The event comes after everything that the other service announces up to this sequence. */
  after: z.int().min(0),
});
export type EventPlace = z.infer<typeof EventPlace>;

/** Fields of every event of an account. */
const EventFields = {
  eventId: z.uuid(),
  organizationId: z.uuid(),
  serverId: z.guid(),
  accountNumber: z.string(),
  occurredAt: z.iso.datetime(),
  /**
   * Absent in risk events, in events of release 0.1.0, and in the last events of an account whose
   * deletion began in release 0.1.0.
   */
  place: EventPlace.optional(),
};

/** Fields of every event of `account.events`. */
const AccountEventFields = {
  ...EventFields,
  /**
   * Counts the records of `account.events` of an account, from 1 without a gap. Not the
   * `accountSequence` of webhook events, which counts transactions too (decisions, 11).
   */
  accountSequence: z.int().min(1),
};

/** The account after the event. */
const AccountRecord = {
  accountId: z.uuid(),
  /** The account's `version` after the event. */
  version: z.int().min(1),
  accountName: z.string(),
  status: z.enum([...ACCOUNT_STATUSES, "deleted"]),
  leverage: z.int(),
};

/** A record of `account.events`: a change that the account service has committed. */
export const AccountEvent = z.discriminatedUnion("type", [
  z.object({
    ...AccountEventFields,
    type: z.enum([
      "account.created",
      "account.updated",
      "account.enabled",
      "account.close_only",
      "account.disabled",
      "account.archived",
      "account.deleted",
    ]),
    ...AccountRecord,
  }),
  z.object({
    ...AccountEventFields,
    type: z.literal("account.password_changed"),
    ...AccountRecord,
    passwordKind: z.enum(["trading", "investor"]),
  }),
  // Each record as the API shows it after the event.
  z.object({ ...AccountEventFields, type: z.enum(["order.executed", "order.cancelled"]), order: Order }),
  // position.updated: a partial close.
  z.object({ ...AccountEventFields, type: z.enum(["position.opened", "position.updated"]), position: PositionMessage }),
  z.object({
    ...AccountEventFields,
    type: z.literal("position.closed"),
    position: PositionMessage,
    /** Every deal of the position, in the order of their execution. */
    dealIds: z.array(z.string()),
    /** Positions of the account that are open after the event. */
    openPositionCount: z.int().min(0),
  }),
  z.object({ ...AccountEventFields, type: z.literal("deal.executed"), deal: Deal }),
  z.object({
    ...AccountEventFields,
    type: z.enum(["margin.call", "margin.stop_out"]),
    equity: z.number(),
    usedMargin: z.number(),
    /** Percent. */
    marginLevel: z.number(),
  }),
]);
export type AccountEvent = z.infer<typeof AccountEvent>;

/** A record of `finance.events`: a transaction that the finance service has booked. */
export const FinanceEvent = z.object({
  ...EventFields,
  type: z.literal("transaction.recorded"),
  transaction: Transaction.extend({ createdBy: MessageCreatedBy }),
});
export type FinanceEvent = z.infer<typeof FinanceEvent>;

/** A record of `risk.events`: an alert, or stored evidence, that the risk service has committed. */
export const RiskEvent = z.discriminatedUnion("type", [
  z.object({ ...EventFields, type: z.enum(["risk.breached", "risk.warning"]), alert: RiskAlert }),
  z.object({ ...EventFields, type: z.literal("risk.evidence_stored"), breach: RiskBreach }),
]);
export type RiskEvent = z.infer<typeof RiskEvent>;

/** A record of `credits.events`, of the organization service. */
export const CreditsEvent = z.object({
  eventId: z.uuid(),
  organizationId: z.uuid(),
  occurredAt: z.iso.datetime(),
  type: z.literal("credits.low_balance"),
  availableCredits: z.int(),
  lowBalanceThreshold: z.int(),
});
export type CreditsEvent = z.infer<typeof CreditsEvent>;
