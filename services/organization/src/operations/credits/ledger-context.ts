import type { Clock } from "@kapi/kernel";
import type { RedisConnection } from "@kapi/redis";
import type { Logger } from "@kapi/runtime";

import type { Store } from "../../domain/ports.ts";

/** What every operation on the ledger works with. */
export interface LedgerContext {
  readonly store: Store;
  readonly redis: RedisConnection;
  readonly clock: Clock;
  readonly logger: Logger;
}
