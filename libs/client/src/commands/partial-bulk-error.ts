import type { QueuedCommand } from "./queued-command.ts";

/**
 * Some accounts of a bulk were queued before a request failed or was aborted. To queue the other
 * accounts, repeat the call with all accounts and the same idempotency key.
 */
export class PartialBulkError extends Error {
  /**
   * The queued commands, in the order of the accounts. Store their credentials: no later answer has
   * them.
   */
  readonly queued: readonly QueuedCommand<"account.create">[];

  constructor(queued: readonly QueuedCommand<"account.create">[], total: number, cause: unknown) {
    super(
      `${queued.length} of ${total} accounts were queued, then: ${cause instanceof Error ? cause.message : String(cause)}`,
      { cause },
    );
    this.name = "PartialBulkError";
    this.queued = queued;
  }
}
