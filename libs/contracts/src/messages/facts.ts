import { z } from "zod";

import { AccountStatus } from "../http/accounts.ts";
import { Transaction } from "../http/finance.ts";

/** What every committed fact carries. */
const Fact = {
  eventId: z.uuid(),
  organizationId: z.uuid(),
  serverId: z.guid(),
  accountNumber: z.string(),
  occurredAt: z.iso.datetime(),
};

/** A record of `account.events`: a fact that the account service has committed. */
export const AccountFact = z.object({
  ...Fact,
  type: z.enum([
    "account.created",
    "account.updated",
    "account.enabled",
    "account.disabled",
    "account.archived",
    "account.deleted",
  ]),
  accountId: z.uuid(),
  /** The account's `version` after it. */
  version: z.int().min(1),
  accountName: z.string(),
  status: AccountStatus,
  leverage: z.int(),
});
export type AccountFact = z.infer<typeof AccountFact>;

/** A record of `finance.events`: a ledger row that the finance service has committed. */
export const FinanceFact = z.object({ ...Fact, type: z.literal("transaction.recorded"), transaction: Transaction });
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
