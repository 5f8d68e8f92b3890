import { type Outbox, transactionWithOutbox } from "@kapi/outbox";
import type { Database } from "@kapi/postgres";

import type { Store } from "../../domain/ports.ts";
import { auditTransaction } from "./audit-outbox.ts";
import { creditStore, creditTransaction } from "./credits/credit-store.ts";
import { directoryStore, directoryTransaction } from "./directory/directory-store.ts";

/**
 * The directory and the ledger in PostgreSQL. After each commit, `outbox` publishes the messages
 * that the transaction enqueued.
 */
export function createStore(database: Database, outbox: Pick<Outbox, "publish">): Store {
  return {
    ...directoryStore(database),
    ...creditStore(database),
    transaction: (work) =>
      transactionWithOutbox(database, outbox, (tx) =>
        work({ ...auditTransaction(tx), ...directoryTransaction(tx), ...creditTransaction(tx) }),
      ),
  };
}
