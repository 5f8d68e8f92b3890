import type { Clock } from "@kapi/kernel";

import type { DirectoryStore } from "../../domain/directory/ports.ts";

/** Dependencies of changes of the directory. */
export interface DirectoryContext {
  readonly store: DirectoryStore;
  readonly clock: Clock;
  /**
   * Waits until this process has published the outbox messages of its earlier transactions, or has
   * failed to publish them. A failed message is published later.
   */
  readonly publish: () => Promise<void>;
}
