import { accountKey } from "@kapi/contracts";
import { uuidV5 } from "@kapi/kernel";

import type { Span } from "./judge.ts";
import type { Values } from "./reading.ts";

/** The lowest equity of an interval, and when it was measured. */
export interface Minimum {
  readonly equityMinor: number;
  readonly measuredAt: string;
}

/** One sample before it is a frame: what several valuations of an account come to. */
export interface Sample {
  readonly span: Span;
  readonly values: Values;
  readonly measuredAt: string;
  readonly minimum: Minimum;
}

/** The account that a sample or valuation is of. */
export interface AccountId {
  readonly serverId: string;
  readonly accountNumber: string;
}

/** The id of a sample: the same for the same account and sequence, whoever makes it. */
export function eventIdOf(account: AccountId, sequence: number): string {
  return uuidV5(account.serverId, `${account.accountNumber}/metrics/${sequence}`);
}

/** `serverId/accountNumber`, taken apart; null where it is no such key. */
export function accountOfKey(key: string): AccountId | null {
  const slash = key.indexOf("/");
  if (slash <= 0 || slash === key.length - 1) return null;
  const account = { serverId: key.slice(0, slash), accountNumber: key.slice(slash + 1) };
  return accountKey(account.serverId, account.accountNumber) === key ? account : null;
}
