import type { SampleRange } from "@kapi/contracts/codec";
import { accountKey, type AccountRef } from "@kapi/contracts";
import { uuidV5 } from "@kapi/kernel";

import type { Values } from "./valuation-record.ts";

/** The lowest equity of an interval; minor units. */
export interface Minimum {
  readonly equityMinor: number;
  /** When it was measured, as the trading server wrote it. */
  readonly measuredAt: string;
}

/** One sample before it is encoded, made of one or more valuations of an account. */
export interface Sample {
  readonly range: SampleRange;
  readonly values: Values;
  readonly measuredAt: string;
  readonly minimum: Minimum;
}

/** The id of a sample. It follows from account and sequence, so every writer gives the same id. */
export function eventIdOf(account: AccountRef, sequence: number): string {
  return uuidV5(account.serverId, `${account.accountNumber}/metrics/${sequence}`);
}

/** Parses `serverId/accountNumber`; null if the key has another form. */
export function accountOfKey(key: string): AccountRef | null {
  const slash = key.indexOf("/");
  if (slash <= 0 || slash === key.length - 1) return null;
  const account = { serverId: key.slice(0, slash), accountNumber: key.slice(slash + 1) };
  return accountKey(account.serverId, account.accountNumber) === key ? account : null;
}
