import { accountKey } from "@kapi/contracts";
import { batcher } from "@kapi/kernel";
import { LRUCache } from "lru-cache";

const MAX_ACCOUNTS_PER_LOAD = 500;
const MAX_CONCURRENT_LOADS = 4;

/** An account as a path names it. */
export interface AccountName {
  readonly serverId: string;
  readonly accountNumber: string;
}

export interface KnownAccountsOptions<A> {
  /** Asks the account service; one answer per account, in order: null for no such account. */
  readonly load: (accounts: readonly AccountName[]) => Promise<readonly (A | null)[]>;
  /** Whether an answer is remembered; by default every one. */
  readonly isLasting?: (account: A) => boolean;
  /** Most accounts remembered; the one asked for longest ago gives way. */
  readonly maxEntries: number;
}

/**
 * Which accounts exist, with what is loaded of each (`A`), which never changes. Only existence is
 * remembered, never absence: an account may be created at any moment. One that is deleted has to be
 * forgotten by who hears of it (architecture, 3.4).
 */
export interface KnownAccounts<A> {
  /** Null where there is no such account. */
  readonly find: (serverId: string, accountNumber: string) => Promise<A | null>;
  /**
   * Makes the memory forget an account, after its deletion; an answer that is under way is not
   * remembered either.
   */
  readonly forget: (serverId: string, accountNumber: string) => void;
}

/** Makes an empty memory; misses that come together share one `load`. */
export function createKnownAccounts<A extends object | string | true>(
  options: KnownAccountsOptions<A>,
): KnownAccounts<A> {
  const { isLasting = () => true } = options;
  const known = new LRUCache<string, A>({ max: options.maxEntries });
  let forgotten = 0;
  const load = batcher<AccountName, A | null>({
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
      // The answer may be older than a deletion that was heard of meanwhile; one that is not
      // remembered is asked for again.
      if (found !== null && forgotten === forgottenBefore && isLasting(found)) known.set(key, found);
      return found;
    },
    forget: (serverId, accountNumber) => {
      forgotten += 1;
      known.delete(accountKey(serverId, accountNumber));
    },
  };
}
