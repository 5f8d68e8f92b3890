import { accountKey, AccountMetricsFrame } from "@kapi/contracts";

import type { SampleLog } from "./sample-log.ts";

/**
 * Returns the newest sample of each account, in order; null for an account without samples, or if
 * its sample does not have the shape of the contract.
 */
export function readLatestSamples(
  log: SampleLog,
  accounts: readonly { readonly serverId: string; readonly accountNumber: string }[],
): (AccountMetricsFrame | null)[] {
  return accounts.map(({ serverId, accountNumber }) => {
    const stream = log.find(accountKey(serverId, accountNumber));
    if (stream === undefined || stream.window.first > stream.window.last) return null;
    return frameOf(log.newest(stream).toString("utf8"));
  });
}

/** The frame in a sample; null if another writer has published something else. */
function frameOf(text: string): AccountMetricsFrame | null {
  try {
    return AccountMetricsFrame.safeParse(JSON.parse(text)).data ?? null;
  } catch {
    return null;
  }
}
