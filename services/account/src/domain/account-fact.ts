import type { WorkTransaction } from "@kapi/commands";
import type { AccountFact, FactPlace } from "@kapi/contracts";

/**
 * The place of `account.created`, which is the first event of every account (libs/trading-server).
 */
export const CREATED_PLACE: FactPlace = { through: 1, after: 0 };

/**
 * A fact before it is recorded: without what the account's row gives to it. A fact without a place
 * gets that behind all events that are booked.
 */
export type FactDraft = DraftOf<AccountFact>;
type DraftOf<Fact> = Fact extends AccountFact ? Omit<Fact, "eventId" | "organizationId" | "accountSequence"> : never;

/**
 * The spans that the facts of accounts are made in, by account key; the others belong to no trace.
 */
export type FactSpans = ReadonlyMap<string, string | undefined>;

/** Gives facts their numbers and has them published, as part of `transaction`. */
export type RecordFacts = (
  transaction: WorkTransaction,
  drafts: readonly FactDraft[],
  spans?: FactSpans,
) => Promise<AccountFact[]>;
