import { AccountMetricsFrame, AccountNumber, accountKey, Valuation } from "@kapi/contracts";
import { minorFromAmount } from "@kapi/kernel";

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

/** A valuation and its place in `trading.valuations`. */
export interface Reading extends Values {
  readonly offset: number;
  /** As the trading server wrote it. */
  readonly measuredAt: string;
  readonly measuredAtMs: number;
}

/** A record of `trading.valuations`, read; or why it cannot be used. */
export type ParsedReading =
  | { readonly serverId: string; readonly accountNumber: string; readonly reading: Reading }
  | { readonly fault: string };

/**
 * Reads a record of `trading.valuations`. Refused: what is no JSON or not of the contract's shape, and what stands under
 * another key than its own account's, since it would be on another partition than the account's stream.
 */
export function readingFromWire(key: string, value: Buffer, offset: number): ParsedReading {
  let json: unknown;
  try {
    json = JSON.parse(value.toString("utf8"));
  } catch (error) {
    return { fault: `the valuation is not JSON: ${error instanceof Error ? error.message : "unreadable"}` };
  }
  const parsed = Valuation.safeParse(json);
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    return { fault: `the valuation is malformed: ${issue?.path.join(".") ?? ""}: ${issue?.message ?? ""}` };
  }
  const valuation = parsed.data;
  if (!AccountNumber.safeParse(valuation.accountNumber).success) {
    return { fault: "the valuation is malformed: accountNumber: not an account number" };
  }
  if (valuation.measuredAt.length > MAX_MEASURED_AT_CHARACTERS) {
    return { fault: "the valuation is malformed: measuredAt: too long" };
  }
  const serverId = valuation.serverId.toLowerCase();
  if (key !== accountKey(serverId, valuation.accountNumber)) return { fault: "the key is not that of the account" };
  return {
    serverId,
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
export function valuesFromFrame(frame: Buffer): (Values & { readonly measuredAtMs: number }) | null {
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
  const measuredAtMs = Date.parse(measuredAt);
  return { balanceMinor, equityMinor, marginMinor, freeMarginMinor, marginLevel, openPositionCount, measuredAtMs };
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
