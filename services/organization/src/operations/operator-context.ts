import type { LedgerContext } from "./ledger-context.ts";

/** What the operator's operations work with. */
export interface OperatorContext extends LedgerContext {
  /** Resolves when the messages of the committed transactions are published, or are left to the outbox for later. */
  readonly publish: () => Promise<void>;
}
