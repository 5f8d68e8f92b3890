import { AccountMetricsFrame, AccountNumber, accountKey, Valuation } from "@kapi/contracts";
import { minorFromAmount } from "@kapi/kernel";

import { type Rejection, WRONG_KEY } from "./rejection.ts";

const GUID = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}";
/** Any day but the 29th of February, whose years would have to be reckoned. */
const DAY =
  "[0-9]{4}-(?:(?:0[1-9]|1[0-2])-(?:0[1-9]|1[0-9]|2[0-8])|(?:0[13-9]|1[0-2])-(?:29|30)|(?:0[13578]|1[02])-31)";
const TIME = "(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]\\.[0-9]{3}Z";
/** At most 15 digits: every one of them is a safe integer. */
const COUNT = "(0|[1-9][0-9]{0,14})";
const MINOR = "(-?(?:0|[1-9][0-9]{0,14}))";
const PERCENT = "(-?(?:0|[1-9][0-9]{0,14})(?:\\.[0-9]{1,10})?)";
/**
 * A valuation with the fields of the contract in its order and nothing between, as `JSON.stringify` writes it: taking it
 * apart costs less than half of parsing and checking it. It matches nothing that the contract refuses.
 */
const USUAL = new RegExp(
  `^\\{"serverId":"(${GUID})","accountNumber":"([A-Za-z0-9_-]{4,32})","measuredAt":"${DAY}T${TIME}"` +
    `,"balanceMinor":${MINOR},"equityMinor":${MINOR},"marginMinor":${MINOR},"freeMarginMinor":${MINOR}` +
    `,"marginLevel":${PERCENT},"unrealizedProfitMinor":-?(?:0|[1-9][0-9]{0,14}),"openPositionCount":${COUNT}\\}$`,
);

/** Where the moment of such a valuation begins, but for the length of the account number. */
const MEASURED_AT = '{"serverId":"","accountNumber":"","measuredAt":"'.length + 36;
const MEASURED_AT_CHARACTERS = "2026-01-01T00:00:00.000Z".length;

/** Longest text of a moment: nanoseconds take 30. A frame shows two, and must stay under what the judge lets count. */
const MAX_MEASURED_AT_CHARACTERS = 40;

/** What an account is worth, without when and where it was measured; money in minor units. */
export interface Values {
  readonly balanceMinor: number;
  readonly equityMinor: number;
  readonly marginMinor: number;
  readonly freeMarginMinor: number;
  readonly marginLevel: number;
  readonly openPositionCount: number;
}

/** What an account is worth, and when that was measured. */
export interface MeasuredValues extends Values {
  /** As the trading server wrote it. */
  readonly measuredAt: string;
  readonly measuredAtMs: number;
}

/** A valuation and its place in `trading.valuations`. */
export interface Reading extends MeasuredValues {
  readonly offset: number;
}

/** A record of `trading.valuations`, read; or why it cannot be used. */
export type ParsedReading =
  | { readonly serverId: string; readonly accountNumber: string; readonly reading: Reading }
  | Rejection;

/**
 * Reads a record of `trading.valuations`. Refused: what is no JSON or not of the contract's shape, and what stands under
 * another key than its own account's, since it would be on another partition than the account's stream.
 */
export function readingFromWire(key: string, value: Buffer, offset: number): ParsedReading {
  const read = usualValuation(value, offset) ?? anyValuation(value, offset);
  if ("fault" in read || key === accountKey(read.serverId, read.accountNumber)) return read;
  return WRONG_KEY;
}

function usualValuation(value: Buffer, offset: number): ParsedReading | null {
  const found = USUAL.exec(value.toString("latin1"));
  if (found === null) return null;
  const accountNumber = found[2] ?? "";
  // Read anew: a part of the text would keep all of it in memory until the account's next valuation.
  const measuredAtStart = MEASURED_AT + accountNumber.length;
  const measuredAt = value.toString("latin1", measuredAtStart, measuredAtStart + MEASURED_AT_CHARACTERS);
  return {
    serverId: found[1] ?? "",
    accountNumber,
    reading: {
      offset,
      measuredAt,
      measuredAtMs: Date.parse(measuredAt),
      balanceMinor: Number(found[3]),
      equityMinor: Number(found[4]),
      marginMinor: Number(found[5]),
      freeMarginMinor: Number(found[6]),
      marginLevel: Number(found[7]),
      openPositionCount: Number(found[8]),
    },
  };
}

function anyValuation(value: Buffer, offset: number): ParsedReading {
  let json: unknown;
  try {
    json = JSON.parse(value.toString("utf8"));
  } catch (error) {
    return malformed(`the valuation is not JSON: ${error instanceof Error ? error.message : "unreadable"}`);
  }
  const parsed = Valuation.safeParse(json);
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    return malformed(`the valuation is malformed: ${issue?.path.join(".") ?? ""}: ${issue?.message ?? ""}`);
  }
  const valuation = parsed.data;
  if (!AccountNumber.safeParse(valuation.accountNumber).success) {
    return malformed("the valuation is malformed: accountNumber: not an account number");
  }
  if (valuation.measuredAt.length > MAX_MEASURED_AT_CHARACTERS) {
    return malformed("the valuation is malformed: measuredAt: too long");
  }
  return {
    serverId: valuation.serverId.toLowerCase(),
    accountNumber: valuation.accountNumber,
    reading: {
      offset,
      measuredAt: valuation.measuredAt,
      measuredAtMs: Date.parse(valuation.measuredAt),
      balanceMinor: valuation.balanceMinor,
      equityMinor: valuation.equityMinor,
      marginMinor: valuation.marginMinor,
      freeMarginMinor: valuation.freeMarginMinor,
      marginLevel: valuation.marginLevel,
      openPositionCount: valuation.openPositionCount,
    },
  };
}

/**
 * What the newest sample of an account says, for a writer that takes the account over; null if it is no frame, or shows
 * an amount that is no whole number of cents.
 */
export function valuesFromFrame(frame: Buffer): MeasuredValues | null {
  let json: unknown;
  try {
    json = JSON.parse(frame.toString("utf8"));
  } catch {
    return null;
  }
  const parsed = AccountMetricsFrame.safeParse(json);
  if (!parsed.success) return null;
  const { balance, equity, margin, freeMargin, marginLevel, openPositionCount, measuredAt } = parsed.data;
  const balanceMinor = minorFromAmount(balance);
  const equityMinor = minorFromAmount(equity);
  const marginMinor = minorFromAmount(margin);
  const freeMarginMinor = minorFromAmount(freeMargin);
  if (balanceMinor === null || equityMinor === null || marginMinor === null || freeMarginMinor === null) return null;
  if (measuredAt.length > MAX_MEASURED_AT_CHARACTERS) return null;
  const values = { balanceMinor, equityMinor, marginMinor, freeMarginMinor, marginLevel, openPositionCount };
  return { ...values, measuredAt, measuredAtMs: Date.parse(measuredAt) };
}

function malformed(fault: string): Rejection {
  return { reason: "malformed", fault };
}

/** Whether the two say the same about the account. */
export function sameValues(left: Values, right: Values): boolean {
  return (
    left.equityMinor === right.equityMinor &&
    left.marginMinor === right.marginMinor &&
    left.freeMarginMinor === right.freeMarginMinor &&
    left.balanceMinor === right.balanceMinor &&
    left.marginLevel === right.marginLevel &&
    left.openPositionCount === right.openPositionCount
  );
}
