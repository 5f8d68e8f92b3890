import type { LedgerContext } from "./ledger-context.ts";

/** What the operator's operations work with. */
export interface OperatorContext extends LedgerContext {
  /** Publishes what the last transaction left in the outbox; what Kafka does not take now is published later. */
  readonly publish: () => Promise<void>;
}
