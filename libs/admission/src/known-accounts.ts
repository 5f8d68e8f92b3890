import { accountKey, type AccountRef } from "@kapi/contracts";
import { batcher } from "@kapi/kernel";
import { LRUCache } from "lru-cache";

const MAX_ACCOUNTS_PER_LOAD = 500;
const MAX_CONCURRENT_LOADS = 4;

/** What a cache loads for each account, which answers it keeps, and how many answers. */
interface KnownAccountsOptions<A> {
  /** Loads accounts from the account service: one answer per account, in order; null if unknown. */
  readonly load: (accounts: readonly AccountRef[]) => Promise<readonly (A | null)[]>;
  /** Whether the answer for an existing account is cached; by default always. */
  readonly isLasting?: (account: A) => boolean;
  /** Maximum number of cached accounts; the least recently used account is evicted. */
  readonly maxEntries: number;
}

/**
 * A cache of existing accounts, with the loaded value (`A`) of each. A value is not loaded again
 * while it is cached, so a value for which `isLasting` is true must not change. Absence is not
 * cached: an account may be created at any moment. Code that learns of a deletion must call
 * `forget` (architecture, 3.4).
 */
export interface KnownAccounts<A> {
  /** Null for an unknown account. */
  readonly find: (serverId: string, accountNumber: string) => Promise<A | null>;
  /**
   * Removes an account after its deletion. Answers that are being loaded, of any account, are not
   * cached.
   */
  readonly forget: (serverId: string, accountNumber: string) => void;
}

/** Creates an empty cache. Misses of one turn of the event loop share a `load`. */
export function createKnownAccounts<A extends object | string | true>(
  options: KnownAccountsOptions<A>,
): KnownAccounts<A> {
  const { isLasting = () => true } = options;
  const known = new LRUCache<string, A>({ max: options.maxEntries });
  let forgotten = 0;
  const load = batcher<AccountRef, A | null>({
    load: options.load,
    maxBatchSize: MAX_ACCOUNTS_PER_LOAD,
    maxConcurrentBatches: MAX_CONCURRENT_LOADS,
  });
  return {
    find: async (serverId, accountNumber) => {
      const key = accountKey(serverId, accountNumber);
      const remembered = known.get(key);
      if (remembered !== undefined) return remembered;
      const forgottenBefore = forgotten;
      const found = await load({ serverId, accountNumber });
      // The answer may be older than a deletion that was reported meanwhile, so it is not cached.
      if (found !== null && forgotten === forgottenBefore && isLasting(found)) known.set(key, found);
      return found;
    },
    forget: (serverId, accountNumber) => {
      forgotten += 1;
      known.delete(accountKey(serverId, accountNumber));
    },
  };
}
