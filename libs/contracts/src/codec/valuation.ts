/** A fast decoder of records of `trading.valuations`. */
import { Valuation } from "../messages/valuation.ts";
import { accountKey } from "../topics.ts";
import { AccountNumber } from "../values.ts";
import {
  ACCOUNT_NUMBER,
  COUNT,
  expressionOf,
  type FieldPatterns,
  groupsOf,
  GUID,
  jsonOf,
  MAX_MOMENT_CHARACTERS,
  MINOR,
  MOMENT,
  PERCENT,
} from "./fields.ts";

/**
 * The fields of a record of `trading.valuations`, in the order in which trading servers write them.
 * The last field is optional.
 */
export const VALUATION_FIELDS: FieldPatterns<keyof Valuation> = {
  serverId: GUID,
  accountNumber: ACCOUNT_NUMBER,
  measuredAt: MOMENT,
  balanceMinor: MINOR,
  equityMinor: MINOR,
  marginMinor: MINOR,
  freeMarginMinor: MINOR,
  marginLevel: PERCENT,
  unrealizedProfitMinor: MINOR,
  openPositionCount: COUNT,
  netDepositsMinor: MINOR,
};
const NAMES = Object.keys(VALUATION_FIELDS) as (keyof Valuation)[];
const USUAL = expressionOf(VALUATION_FIELDS, "{", "netDepositsMinor");
const AT = groupsOf(VALUATION_FIELDS);
/**
 * Number of characters before the value of `measuredAt`, without the values of the two earlier
 * fields.
 */
const BEFORE_MEASURED_AT = `{"${NAMES.slice(0, AT.measuredAt).join('":"","')}":"`.length;

/** The values of a record of `trading.valuations` that kapi uses, and the offset of the record. */
export interface DecodedValues {
  readonly offset: number;
  /** As the trading server wrote it. */
  readonly measuredAt: string;
  readonly measuredAtMs: number;
  readonly balanceMinor: number;
  readonly equityMinor: number;
  readonly marginMinor: number;
  readonly freeMarginMinor: number;
  readonly marginLevel: number;
  readonly openPositionCount: number;
  /** Null: the trading server does not send it. */
  readonly netDepositsMinor: number | null;
}

/** Why a record is rejected. */
export interface ValuationRejection {
  readonly reason: "malformed" | "wrong_key";
  readonly fault: string;
}

/** A decoded record of `trading.valuations`, or why it is rejected. */
export type DecodedValuation =
  | { readonly serverId: string; readonly accountNumber: string; readonly valuation: DecodedValues }
  | ValuationRejection;

const WRONG_KEY = { reason: "wrong_key", fault: "the key is not that of the account" } as const;

/**
 * Decodes a record of `trading.valuations`. Rejects values that are not JSON or break the contract,
 * and records with a key other than their account's, which may be on a wrong partition.
 */
export function decodeValuation(key: string, value: Buffer, offset: number): DecodedValuation {
  const decoded = usualValuation(value, offset) ?? anyValuation(value, offset);
  if ("fault" in decoded || key === accountKey(decoded.serverId, decoded.accountNumber)) return decoded;
  return WRONG_KEY;
}

function usualValuation(value: Buffer, offset: number): DecodedValuation | null {
  const found = USUAL.exec(value.toString("latin1"));
  if (found === null) return null;
  const start = BEFORE_MEASURED_AT + lengthOf(found[AT.serverId]) + lengthOf(found[AT.accountNumber]);
  // Decoded again: a slice of the text would keep all of it in memory.
  const measuredAt = value.toString("latin1", start, start + lengthOf(found[AT.measuredAt]));
  return decodedOf(found, measuredAt, offset);
}

function anyValuation(value: Buffer, offset: number): DecodedValuation {
  const found = jsonOf(value.toString("utf8"));
  if ("fault" in found) return malformed(`the valuation is ${found.fault}`);
  const parsed = Valuation.safeParse(found.json);
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    return malformed(`the valuation is malformed: ${issue?.path.join(".") ?? ""}: ${issue?.message ?? ""}`);
  }
  const valuation = { ...parsed.data, serverId: parsed.data.serverId.toLowerCase() };
  if (!AccountNumber.safeParse(valuation.accountNumber).success) {
    return malformed("the valuation is malformed: accountNumber: not an account number");
  }
  if (valuation.measuredAt.length > MAX_MOMENT_CHARACTERS) {
    return malformed("the valuation is malformed: measuredAt: too long");
  }
  // Same positions as the match of the expression: the first group is element 1.
  const fields = [undefined, ...NAMES.map((name) => valuation[name])];
  return decodedOf(fields, valuation.measuredAt, offset);
}

function decodedOf(
  fields: ArrayLike<string | number | undefined>,
  measuredAt: string,
  offset: number,
): DecodedValuation {
  return {
    serverId: String(fields[AT.serverId]),
    accountNumber: String(fields[AT.accountNumber]),
    valuation: {
      offset,
      measuredAt,
      measuredAtMs: Date.parse(measuredAt),
      balanceMinor: Number(fields[AT.balanceMinor]),
      equityMinor: Number(fields[AT.equityMinor]),
      marginMinor: Number(fields[AT.marginMinor]),
      freeMarginMinor: Number(fields[AT.freeMarginMinor]),
      marginLevel: Number(fields[AT.marginLevel]),
      openPositionCount: Number(fields[AT.openPositionCount]),
      netDepositsMinor: fields[AT.netDepositsMinor] === undefined ? null : Number(fields[AT.netDepositsMinor]),
    },
  };
}

function malformed(fault: string): ValuationRejection {
  return { reason: "malformed", fault };
}

function lengthOf(text = ""): number {
  return text.length;
}
