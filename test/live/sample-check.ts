/**
 * Computes a sample from the raw valuations of its interval. This file uses no code of the metrics
 * service, so that an error there is not repeated here.
 */
import { createHash } from "node:crypto";

import type { AccountMetricsFrame, Valuation } from "@kapi/contracts";

const MINOR_PER_UNIT = 100;

/** A record of `trading.valuations`. */
export interface RawValuation extends Valuation {
  readonly offset: number;
}

/** An account's accepted sample in the log, with the values of its headers. */
export interface AcceptedSample {
  readonly sequence: number;
  readonly from: number;
  readonly to: number;
  readonly value: Buffer;
}

/**
 * Returns the faults of a sample, one sentence each. `interval` has the account's raw valuations
 * after `from`, up to and including `to`. `held` is the valuation at `from`; null for the first
 * sample.
 */
export function sampleFaults(
  account: Account,
  sample: AcceptedSample,
  interval: readonly RawValuation[],
  held: RawValuation | null,
): string[] {
  if (interval.at(-1)?.offset !== sample.to)
    return [`its "to", ${sample.to}, is not an offset of the account's valuations`];
  const frame = JSON.parse(sample.value.toString("utf8")) as Record<string, unknown>;
  return Object.entries(expectedFrame(account, sample.sequence, interval, held))
    .filter(([field, value]) => frame[field] !== value)
    .map(([field, value]) => `${field} is ${String(frame[field])}, not ${value}`);
}

interface Account {
  readonly serverId: string;
  readonly accountNumber: string;
}

/**
 * Returns the sample of the valuations in `interval`, at least one. The minimum also includes
 * `held`, the last valuation of the previous sample. Of equal minimums, the earliest is used.
 */
export function expectedFrame(
  { serverId, accountNumber }: Account,
  sequence: number,
  interval: readonly RawValuation[],
  held: RawValuation | null,
): AccountMetricsFrame {
  const newest = interval.at(-1);
  if (newest === undefined) throw new RangeError("a sample needs at least one valuation");
  let lowest = newest;
  const observed = held === null ? interval : [held, ...interval];
  for (const one of observed.toReversed()) if (one.equityMinor <= lowest.equityMinor) lowest = one;
  return {
    type: "account.metrics",
    eventId: eventId(serverId, `${accountNumber}/metrics/${sequence}`),
    serverId,
    accountNumber,
    sequence,
    measuredAt: newest.measuredAt,
    balance: newest.balanceMinor / MINOR_PER_UNIT,
    equity: newest.equityMinor / MINOR_PER_UNIT,
    margin: newest.marginMinor / MINOR_PER_UNIT,
    freeMargin: newest.freeMarginMinor / MINOR_PER_UNIT,
    marginLevel: newest.marginLevel,
    openPositionCount: newest.openPositionCount,
    intervalMinimumEquity: lowest.equityMinor / MINOR_PER_UNIT,
    intervalMinimumMeasuredAt: lowest.measuredAt,
  };
}

/** UUID version 5 (RFC 9562, 5.5). */
function eventId(namespace: string, name: string): string {
  const digest = createHash("sha1")
    .update(Buffer.from(namespace.replaceAll("-", ""), "hex"))
    .update(name)
    .digest();
  digest.writeUInt8((digest.readUInt8(6) & 0x0f) | 0x50, 6);
  digest.writeUInt8((digest.readUInt8(8) & 0x3f) | 0x80, 8);
  const hex = digest.toString("hex", 0, 16);
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

/**
 * Whether two valuations have equal values. While no other valuation waits, a valuation with the
 * values of the last sample causes no sample.
 */
export function haveEqualValues(left: Valuation, right: Valuation): boolean {
  return (
    left.balanceMinor === right.balanceMinor &&
    left.equityMinor === right.equityMinor &&
    left.marginMinor === right.marginMinor &&
    left.freeMarginMinor === right.freeMarginMinor &&
    left.marginLevel === right.marginLevel &&
    left.openPositionCount === right.openPositionCount
  );
}
