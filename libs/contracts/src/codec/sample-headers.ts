/** The headers of records of `metrics.samples`. */
import { SAMPLE_HEADERS } from "../messages/metrics-sample.ts";

const MAX_DIGITS = 16;
const ZERO = 48;

/**
 * A sample's sequence and the range of its valuations in `trading.valuations`; `from` exclusive,
 * `to` inclusive. Both are positions (`OFFSETS_PER_GENERATION`), not offsets.
 */
export interface SampleRange {
  readonly sequence: number;
  readonly from: number;
  readonly to: number;
}

/** The headers of the record that reports the deletion of its account. This record has no value. */
export const DELETION_HEADERS: Readonly<Record<string, string>> = { [SAMPLE_HEADERS.deleted]: "1" };

/** The headers of a record of `metrics.samples`. */
export function encodeSampleHeaders(range: SampleRange): Record<string, string> {
  return {
    [SAMPLE_HEADERS.sequence]: String(range.sequence),
    [SAMPLE_HEADERS.from]: String(range.from),
    [SAMPLE_HEADERS.to]: String(range.to),
  };
}

/**
 * Decodes the headers of a record of `metrics.samples`. Returns null if a header is missing or is
 * not a whole number. `from` is -1 for the first sample of an account, and for its first sample
 * after a move to another partition (decisions, 28).
 */
export function decodeSampleHeaders(headers: Readonly<Record<string, string>>): SampleRange | null {
  const sequence = wholeNumber(headers[SAMPLE_HEADERS.sequence]);
  const from = headers[SAMPLE_HEADERS.from] === "-1" ? -1 : wholeNumber(headers[SAMPLE_HEADERS.from]);
  const to = wholeNumber(headers[SAMPLE_HEADERS.to]);
  return sequence === null || from === null || to === null ? null : { sequence, from, to };
}

/**
 * Whether the record reports the deletion of its account. Later records of the account are
 * ignored.
 */
export function isDeletion(headers: Readonly<Record<string, string>>): boolean {
  return headers[SAMPLE_HEADERS.deleted] !== undefined;
}

/**
 * A whole number from 0 to 2^53 - 1 in decimal digits, without leading zeros; null for any other
 * text.
 */
function wholeNumber(text: string | undefined): number | null {
  if (text === undefined || text.length === 0 || text.length > MAX_DIGITS) return null;
  let value = 0;
  for (let at = 0; at < text.length; at += 1) {
    const digit = text.charCodeAt(at) - ZERO;
    if (digit < 0 || digit > 9 || (at === 1 && value === 0)) return null;
    value = value * 10 + digit;
  }
  return Number.isSafeInteger(value) ? value : null;
}
