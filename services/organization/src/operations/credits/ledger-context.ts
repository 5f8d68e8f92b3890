import type { Clock } from "@kapi/kernel";
import type { RedisConnection } from "@kapi/redis";
import type { Logger } from "@kapi/runtime";

import type { CreditStore } from "../../domain/credits/ports.ts";

/** What every operation on the ledger works with. */
export interface LedgerContext {
  readonly store: CreditStore;
  readonly redis: RedisConnection;
  readonly clock: Clock;
  readonly logger: Logger;
}
