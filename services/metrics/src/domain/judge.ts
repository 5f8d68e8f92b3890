/**
 * Which samples count. The log is the judge (architecture, 3.5): a sample counts only if its
 * sequence is the account's last + 1 and its `from` is the last `to`, in log order. Every process
 * applies this to every sample, so all agree, and a writer that lost its partition, a repeated send
 * or a record from elsewhere cannot fork or repeat a sequence, nor lose the valuations between.
 *
 * Nothing here may depend on configuration or on time: two processes that judge differently would
 * show their clients different streams.
 */

import { SAMPLE_HEADERS } from "@kapi/contracts";

/** Largest value of a sample that counts. A frame of the longest account number and numbers takes under 700 bytes. */
export const MAX_FRAME_BYTES = 4_096;

/** What the log says about an account: the sequence and the source offset of the last sample that counted. */
export interface LogState {
  readonly sequence: number;
  readonly to: number;
}

/** An account before its first sample. */
export const BEFORE_FIRST: LogState = Object.freeze({ sequence: 0, to: -1 });

/** The place of a sample in its account's stream; `from` exclusive, `to` inclusive, offsets in `trading.valuations`. */
export interface Span {
  readonly sequence: number;
  readonly from: number;
  readonly to: number;
}

/** Whether the sample at `span`, of `frameBytes` bytes, is the next one after `state`. */
export function counts(state: LogState, span: Span, frameBytes: number): boolean {
  return (
    span.sequence === state.sequence + 1 &&
    span.from === state.to &&
    span.to > span.from &&
    frameBytes > 0 &&
    frameBytes <= MAX_FRAME_BYTES
  );
}

/** Whether both name the same sample of an account. */
export function sameSpan(left: Span, right: Span): boolean {
  return left.sequence === right.sequence && left.from === right.from && left.to === right.to;
}

/** The headers of a record of `metrics.samples` as a {@link Span}; null where one is missing or no whole number. */
export function spanFromWire(headers: Readonly<Record<string, string>>): Span | null {
  const sequence = wholeNumber(headers[SAMPLE_HEADERS.sequence]);
  const from = headers[SAMPLE_HEADERS.from] === "-1" ? -1 : wholeNumber(headers[SAMPLE_HEADERS.from]);
  const to = wholeNumber(headers[SAMPLE_HEADERS.to]);
  return sequence === null || from === null || to === null ? null : { sequence, from, to };
}

/** Whether the record is no sample but tells that its account is gone: from then on nothing of it counts. */
export function isDeletion(headers: Readonly<Record<string, string>>): boolean {
  return headers[SAMPLE_HEADERS.deleted] !== undefined;
}

/** A {@link Span} as the headers of a record of `metrics.samples`. */
export function spanToWire(span: Span): Record<string, string> {
  return {
    [SAMPLE_HEADERS.sequence]: String(span.sequence),
    [SAMPLE_HEADERS.from]: String(span.from),
    [SAMPLE_HEADERS.to]: String(span.to),
  };
}

const MAX_DIGITS = 16;
const ZERO = 48;

/** A whole number from 0 to 2^53 - 1 in decimal digits, without leading zeros; null for any other text. */
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
