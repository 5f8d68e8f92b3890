import type { CreditStore, CreditTransaction } from "./credits/ports.ts";
import type { DirectoryStore, DirectoryTransaction } from "./directory/ports.ts";

/** What is done together or not at all, of both domains. */
export type StoreTransaction = DirectoryTransaction & CreditTransaction;

/** The service's own database. */
export interface Store extends Omit<DirectoryStore, "transaction">, Omit<CreditStore, "transaction"> {
  transaction<T>(work: (tx: StoreTransaction) => Promise<T>): Promise<T>;
}
