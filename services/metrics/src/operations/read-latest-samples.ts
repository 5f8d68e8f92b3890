import { accountKey, AccountMetricsFrame, type AccountRef } from "@kapi/contracts";
import { assertDefined } from "@kapi/kernel";

import type { SampleLog } from "./sample-log.ts";

/**
 * Returns the newest sample of each account, in the order of `accounts`; null for an account
 * without samples, or if its newest sample cannot be decoded.
 */
export type LatestSamples = (accounts: readonly AccountRef[]) => Promise<readonly (AccountMetricsFrame | null)[]>;

/**
 * Returns the newest sample of each account in this process, in the order of `accounts`; null for
 * an account without samples, or if its sample does not have the shape of the contract.
 */
export function readLatestSamples(log: SampleLog, accounts: readonly AccountRef[]): (AccountMetricsFrame | null)[] {
  return accounts.map(({ serverId, accountNumber }) => {
    const stream = log.find(accountKey(serverId, accountNumber));
    if (stream === undefined || stream.window.first > stream.window.last) return null;
    return frameOf(log.newest(stream).toString("utf8"));
  });
}

/**
 * For a windows process: reads the samples that this process holds, and asks the other windows
 * processes for the samples that they hold. If a process does not answer, asks the next process
 * that holds the account. Rejects if no process that holds an account answers.
 */
export function gatherLatestSamples(options: {
  readonly log: SampleLog;
  /** The number of this process among the windows processes (`WINDOWS_INSTANCE`). */
  readonly instance: number;
  /** The numbers of the processes that hold an account: its own process, then the replica. */
  readonly holdersOf: (key: string) => readonly number[];
  /** Asks another windows process for samples that it holds. */
  readonly ask: (instance: number, accounts: readonly AccountRef[]) => Promise<readonly (AccountMetricsFrame | null)[]>;
}): LatestSamples {
  const { log, instance, holdersOf, ask } = options;
  const askHolders = async (holders: readonly number[], accounts: readonly AccountRef[]) => {
    const [first, ...others] = holders;
    try {
      return await ask(assertDefined(first, "a holder of the account"), accounts);
    } catch (error) {
      if (others.length === 0) throw error;
      return askHolders(others, accounts);
    }
  };
  return async (accounts) => {
    const samples: (AccountMetricsFrame | null)[] = accounts.map(() => null);
    const located = accounts.map((account, index) => {
      const holders = holdersOf(accountKey(account.serverId, account.accountNumber));
      return { account, index, holders: holders.includes(instance) ? [] : holders };
    });
    const groups = Map.groupBy(located, ({ holders }) => holders.join(","));
    await Promise.all(
      Array.from(groups.values(), async (group) => {
        const holders = group[0]?.holders ?? [];
        const asked = group.map(({ account }) => account);
        const found = holders.length === 0 ? readLatestSamples(log, asked) : await askHolders(holders, asked);
        for (const [position, { index }] of group.entries()) samples[index] = found[position] ?? null;
      }),
    );
    return samples;
  };
}

/** Decodes a sample; null if its text does not have the shape of the contract. */
function frameOf(text: string): AccountMetricsFrame | null {
  try {
    return AccountMetricsFrame.safeParse(JSON.parse(text)).data ?? null;
  } catch {
    return null;
  }
}
