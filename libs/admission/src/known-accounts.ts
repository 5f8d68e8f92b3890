import { accountKey } from "@kapi/contracts";
import { batcher } from "@kapi/kernel";

const MAX_ACCOUNTS_PER_LOAD = 500;
const MAX_CONCURRENT_LOADS = 4;

/** An account as a path names it. */
export interface AccountName {
  readonly serverId: string;
  readonly accountNumber: string;
}

export interface KnownAccountsOptions {
  /** Asks the account service; one answer per account, in order. */
  readonly load: (accounts: readonly AccountName[]) => Promise<readonly boolean[]>;
  /** Most accounts remembered; the one known longest gives way. */
  readonly maxEntries: number;
}

/**
 * Which accounts exist. Only existence is remembered, never absence: an account may be created at any moment. One that is
 * deleted has to be forgotten by who hears of it (design, 3, "A read").
 */
export interface KnownAccounts {
  readonly exists: (serverId: string, accountNumber: string) => Promise<boolean>;
  /** Makes the memory forget an account, after its deletion; an answer that is under way is not remembered either. */
  readonly forget: (serverId: string, accountNumber: string) => void;
}

/** Makes an empty memory; misses that come together share one `load`. */
export function createKnownAccounts(options: KnownAccountsOptions): KnownAccounts {
  const known = new Set<string>();
  let forgotten = 0;
  const load = batcher<AccountName, boolean>({
    load: options.load,
    maxBatchSize: MAX_ACCOUNTS_PER_LOAD,
    maxConcurrentBatches: MAX_CONCURRENT_LOADS,
  });
  const remember = (key: string): void => {
    if (known.size >= options.maxEntries) {
      for (const oldest of known) {
        known.delete(oldest);
        break;
      }
    }
    known.add(key);
  };
  return {
    exists: async (serverId, accountNumber) => {
      const key = accountKey(serverId, accountNumber);
      if (known.has(key)) return true;
      const forgottenBefore = forgotten;
      const exists = await load({ serverId, accountNumber });
      // The answer may be older than a deletion that was heard of meanwhile; one that is not remembered is asked for again.
      if (exists && forgotten === forgottenBefore) remember(key);
      return exists;
    },
    forget: (serverId, accountNumber) => {
      forgotten += 1;
      known.delete(accountKey(serverId, accountNumber));
    },
  };
}
