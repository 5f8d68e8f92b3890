import type { Clock } from "@kapi/kernel";
import type { Database } from "@kapi/postgres";
import type { RedisConnection } from "@kapi/redis";
import type { Logger } from "@kapi/runtime";

/** What every operation on the ledger works with. */
export interface LedgerContext {
  readonly database: Database;
  readonly redis: RedisConnection;
  readonly clock: Clock;
  readonly logger: Logger;
}
