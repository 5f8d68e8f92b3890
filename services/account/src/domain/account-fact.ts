import type { WorkTransaction } from "@kapi/commands";
import type { AccountFact } from "@kapi/contracts";

/** A fact before it is recorded: without what the account's row gives to it. */
export type FactDraft = DraftOf<AccountFact>;
type DraftOf<Fact> = Fact extends AccountFact ? Omit<Fact, "eventId" | "organizationId" | "accountSequence"> : never;

/** The spans that the facts of accounts are made in, by account key; the others belong to no trace. */
export type FactSpans = ReadonlyMap<string, string | undefined>;

/** Gives facts their numbers and has them published, as part of `transaction`. */
export type RecordFacts = (
  transaction: WorkTransaction,
  drafts: readonly FactDraft[],
  spans?: FactSpans,
) => Promise<AccountFact[]>;
