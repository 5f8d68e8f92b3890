import type { CreditStore, CreditTransaction } from "./credits/ports.ts";
import type { DirectoryStore, DirectoryTransaction } from "./directory/ports.ts";

/** One transaction of the directory and the credit ledger. */
export type StoreTransaction = DirectoryTransaction & CreditTransaction;

/** The directory and the credit ledger in one database, so that one transaction can change both. */
export interface Store extends Omit<DirectoryStore, "transaction">, Omit<CreditStore, "transaction"> {
  transaction<T>(work: (tx: StoreTransaction) => Promise<T>): Promise<T>;
}
