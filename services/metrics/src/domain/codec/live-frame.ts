/**
 * The frame `account.metrics` (interface, "Live-metrics WebSocket"): the value of a record of
 * `metrics.samples`, and byte for byte the text that a socket gets.
 */
import { AccountMetricsFrame, type AccountRef } from "@kapi/contracts";
import {
  AMOUNT,
  COUNT,
  type DecodeFailure,
  expressionOf,
  groupsOf,
  jsonOf,
  MAX_MOMENT_CHARACTERS,
  MOMENT,
  PERCENT,
  patternsOf,
} from "@kapi/contracts/codec";
import { amountFromMinor, minorFromAmount } from "@kapi/kernel";

import type { MeasuredValues } from "../valuation-record.ts";
import { eventIdOf, type Minimum, type Sample } from "../sample.ts";

/**
 * Encodes a field as JSON text. Texts are inserted without escapes: valuations are validated, so
 * their texts have no characters that JSON escapes.
 */
type Encode = (account: AccountRef, sample: Sample) => string;
interface Field {
  readonly pattern: string;
  readonly encode: Encode;
}

/**
 * The first fields of a frame, in wire order. They identify the sample, as the record's key and
 * headers do.
 */
const FIRST_FIELDS = {
  type: () => '"account.metrics"',
  eventId: (account, { range }) => `"${eventIdOf(account, range.sequence)}"`,
  serverId: ({ serverId }) => `"${serverId}"`,
  accountNumber: ({ accountNumber }) => `"${accountNumber}"`,
  sequence: (_account, { range }) => `${range.sequence}`,
} as const satisfies Partial<Record<keyof AccountMetricsFrame, Encode>>;

/** The remaining fields, in wire order: the values of the sample. */
const CONTENT_FIELDS: Readonly<Record<Exclude<keyof AccountMetricsFrame, keyof typeof FIRST_FIELDS>, Field>> = {
  measuredAt: { pattern: MOMENT, encode: (_account, { measuredAt }) => `"${measuredAt}"` },
  balance: { pattern: AMOUNT, encode: (_account, { values }) => amount(values.balanceMinor) },
  equity: { pattern: AMOUNT, encode: (_account, { values }) => amount(values.equityMinor) },
  margin: { pattern: AMOUNT, encode: (_account, { values }) => amount(values.marginMinor) },
  freeMargin: { pattern: AMOUNT, encode: (_account, { values }) => amount(values.freeMarginMinor) },
  marginLevel: { pattern: PERCENT, encode: (_account, { values }) => JSON.stringify(values.marginLevel) },
  openPositionCount: { pattern: COUNT, encode: (_account, { values }) => `${values.openPositionCount}` },
  intervalMinimumEquity: { pattern: AMOUNT, encode: (_account, { minimum }) => amount(minimum.equityMinor) },
  intervalMinimumMeasuredAt: { pattern: MOMENT, encode: (_account, { minimum }) => `"${minimum.measuredAt}"` },
};

const MEMBERS: readonly { readonly before: string; readonly encode: Encode }[] = [
  ...Object.entries(FIRST_FIELDS),
  ...Object.entries(CONTENT_FIELDS).map(([name, { encode }]) => [name, encode] as const),
].map(([name, encode], index) => ({ before: `${index === 0 ? "{" : ","}"${name}":`, encode }));
const CONTENT = patternsOf(CONTENT_FIELDS);
const CONTENT_NAMES = Object.keys(CONTENT_FIELDS) as (keyof typeof CONTENT_FIELDS)[];
/** Matches the end of a frame: the content fields, in the usual order and without spaces. */
const USUAL_END = expressionOf(CONTENT, ",");
/** The index of each content field in the match. */
const AT = groupsOf(CONTENT);

/** Encodes a sample as the text of a frame. */
export function encodeLiveFrame(account: AccountRef, sample: Sample): Buffer {
  let text = "";
  for (const { before, encode } of MEMBERS) text += before + encode(account, sample);
  return Buffer.from(`${text}}`);
}

/** The values of a frame; money in minor units. */
export interface FrameContent {
  readonly values: MeasuredValues;
  readonly minimum: Minimum;
}

/**
 * Decodes the values of a frame, also of one whose fields have another order. Times may be slices
 * of the frame's text, which keep all of it in memory: copy them before keeping them (`copyOf`).
 */
export function decodeLiveFrame(frame: Buffer): FrameContent | DecodeFailure {
  const found = USUAL_END.exec(frame.toString("latin1"));
  return found === null ? decodeAnyFrame(frame) : contentOf(found);
}

function decodeAnyFrame(frame: Buffer): FrameContent | DecodeFailure {
  const found = jsonOf(frame.toString("utf8"));
  if ("fault" in found) return found;
  const parsed = AccountMetricsFrame.safeParse(found.json);
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    return malformed(`${issue?.path.join(".") ?? ""}: ${issue?.message ?? ""}`);
  }
  const { data } = parsed;
  if (data.measuredAt.length > MAX_MOMENT_CHARACTERS) return malformed("measuredAt: too long");
  // As in the match of the expression, the fields begin at element 1.
  return contentOf([undefined, ...CONTENT_NAMES.map((name) => data[name])]);
}

function contentOf(fields: ArrayLike<string | number | undefined>): FrameContent | DecodeFailure {
  const measuredAt = String(fields[AT.measuredAt]);
  const balanceMinor = minorFromAmount(Number(fields[AT.balance]));
  const equityMinor = minorFromAmount(Number(fields[AT.equity]));
  const marginMinor = minorFromAmount(Number(fields[AT.margin]));
  const freeMarginMinor = minorFromAmount(Number(fields[AT.freeMargin]));
  const minimumMinor = minorFromAmount(Number(fields[AT.intervalMinimumEquity]));
  if (
    balanceMinor === null ||
    equityMinor === null ||
    marginMinor === null ||
    freeMarginMinor === null ||
    minimumMinor === null
  ) {
    return { reason: "not_cents", fault: "an amount is not a whole number of cents" };
  }
  return {
    values: {
      measuredAt,
      measuredAtMs: Date.parse(measuredAt),
      balanceMinor,
      equityMinor,
      marginMinor,
      freeMarginMinor,
      marginLevel: Number(fields[AT.marginLevel]),
      openPositionCount: Number(fields[AT.openPositionCount]),
    },
    minimum: { equityMinor: minimumMinor, measuredAt: String(fields[AT.intervalMinimumMeasuredAt]) },
  };
}

/**
 * From this number of minor units on, an amount in units of currency is a double that does not
 * always have two exact decimals.
 */
const EXACT_MINOR = 1e15;

/**
 * Writes the same text as `JSON.stringify` of the amount in units of currency, but faster.
 */
function amount(minor: number): string {
  const magnitude = Math.abs(minor);
  if (!Number.isInteger(minor) || magnitude >= EXACT_MINOR) return JSON.stringify(amountFromMinor(minor));
  const units = `${minor < 0 ? "-" : ""}${Math.floor(magnitude / 100)}`;
  const cents = magnitude % 100;
  if (cents === 0) return units;
  return cents % 10 === 0 ? `${units}.${cents / 10}` : `${units}.${cents < 10 ? "0" : ""}${cents}`;
}

function malformed(fault: string): DecodeFailure {
  return { reason: "malformed", fault };
}
