import { accountKey } from "@kapi/contracts";
import { amountFromMinor, uuidV5 } from "@kapi/kernel";

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

/**
 * The bytes of the frame `account.metrics` (interface, "Live-metrics WebSocket"). Written by hand because it is made for
 * every sample; all inserted text is free of characters that JSON escapes (checked where valuations are read).
 */
export function frameOf(account: AccountId, sample: Sample): Buffer {
  const { values, minimum, span } = sample;
  return Buffer.from(
    `{"type":"account.metrics","eventId":"${eventIdOf(account, span.sequence)}","serverId":"${account.serverId}"` +
      `,"accountNumber":"${account.accountNumber}","sequence":${span.sequence},"measuredAt":"${sample.measuredAt}"` +
      `,"balance":${amount(values.balanceMinor)},"equity":${amount(values.equityMinor)}` +
      `,"margin":${amount(values.marginMinor)},"freeMargin":${amount(values.freeMarginMinor)}` +
      `,"marginLevel":${JSON.stringify(values.marginLevel)},"openPositionCount":${values.openPositionCount}` +
      `,"intervalMinimumEquity":${amount(minimum.equityMinor)}` +
      `,"intervalMinimumMeasuredAt":"${minimum.measuredAt}"}`,
  );
}

/** `serverId/accountNumber`, taken apart; null where it is no such key. */
export function accountOfKey(key: string): AccountId | null {
  const slash = key.indexOf("/");
  if (slash <= 0 || slash === key.length - 1) return null;
  const account = { serverId: key.slice(0, slash), accountNumber: key.slice(slash + 1) };
  return accountKey(account.serverId, account.accountNumber) === key ? account : null;
}

function amount(minor: number): string {
  return JSON.stringify(amountFromMinor(minor));
}
