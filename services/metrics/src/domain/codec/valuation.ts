import { AccountNumber, accountKey, Valuation } from "@kapi/contracts";

import type { ValuationRecord } from "../valuation-record.ts";
import { type Rejection, WRONG_KEY } from "../rejection.ts";
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
};
const NAMES = Object.keys(VALUATION_FIELDS) as (keyof Valuation)[];
const USUAL = expressionOf(VALUATION_FIELDS, "{");
const AT = groupsOf(VALUATION_FIELDS);
/** Characters before `measuredAt`, without the values of the two fields before it. */
const BEFORE_MEASURED_AT = `{"${NAMES.slice(0, AT.measuredAt).join('":"","')}":"`.length;

/** A decoded record of `trading.valuations`, or why it is rejected. */
export type DecodedValuation =
  | { readonly serverId: string; readonly accountNumber: string; readonly valuation: ValuationRecord }
  | Rejection;

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
    },
  };
}

function malformed(fault: string): Rejection {
  return { reason: "malformed", fault };
}

function lengthOf(text = ""): number {
  return text.length;
}
