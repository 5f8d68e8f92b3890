import type { Clock } from "@kapi/kernel";

import type { DirectoryStore } from "../../domain/directory/ports.ts";

/** Dependencies of changes of the directory. */
export interface DirectoryContext {
  readonly store: DirectoryStore;
  readonly clock: Clock;
  /**
   * Waits until this process has sent the outbox messages of its earlier transactions. Messages
   * that Kafka does not accept now are published later.
   */
  readonly publish: () => Promise<void>;
}
