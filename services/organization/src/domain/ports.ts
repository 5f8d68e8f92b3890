import type { CreditStore, CreditTransaction } from "./credits/ports.ts";
import type { DirectoryStore, DirectoryTransaction } from "./directory/ports.ts";

/** One transaction over both domains. */
export type StoreTransaction = DirectoryTransaction & CreditTransaction;

export interface Store extends Omit<DirectoryStore, "transaction">, Omit<CreditStore, "transaction"> {
  transaction<T>(work: (tx: StoreTransaction) => Promise<T>): Promise<T>;
}
