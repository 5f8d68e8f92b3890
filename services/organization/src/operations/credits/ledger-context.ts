import type { Clock } from "@kapi/kernel";
import type { RedisConnection } from "@kapi/redis";
import type { Logger } from "@kapi/runtime";

import type { CreditStore } from "../../domain/credits/ports.ts";

/** Dependencies of the operations on the ledger. */
export interface LedgerContext {
  readonly store: CreditStore;
  readonly redis: RedisConnection;
  readonly clock: Clock;
  readonly logger: Logger;
}
