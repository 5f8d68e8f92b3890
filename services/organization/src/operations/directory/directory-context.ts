import type { Clock } from "@kapi/kernel";

import type { DirectoryStore } from "../../domain/directory/ports.ts";

/** What every change of the directory works with. */
export interface DirectoryContext {
  readonly store: DirectoryStore;
  readonly clock: Clock;
  /**
   * Publishes what the last transaction left in the outbox; what Kafka does not take now is
   * published later.
   */
  readonly publish: () => Promise<void>;
}
