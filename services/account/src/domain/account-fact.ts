import type { WorkTransaction } from "@kapi/commands";
import type { AccountFact } from "@kapi/contracts";

/** A fact before it is recorded: without what the account's row gives to it. */
export type FactDraft = DraftOf<AccountFact>;
type DraftOf<Fact> = Fact extends AccountFact ? Omit<Fact, "eventId" | "organizationId" | "accountSequence"> : never;

/** Gives facts their numbers and has them published, as part of `transaction`. */
export type RecordFacts = (transaction: WorkTransaction, drafts: readonly FactDraft[]) => Promise<AccountFact[]>;
