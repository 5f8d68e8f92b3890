/**
 * Which samples count. The log is the judge (architecture, 3.5): a sample counts only if its
 * sequence is the account's last + 1 and its `from` is the last `to`, in log order. Every process
 * applies this to every sample, so all agree, and a writer that lost its partition, a repeated send
 * or a record from elsewhere cannot fork or repeat a sequence, nor lose the valuations between.
 *
 * Nothing here may depend on configuration or on time: two processes that judge differently would
 * show their clients different streams.
 */

/**
 * Largest value of a sample that counts. A frame of the longest account number and numbers takes
 * under 700 bytes.
 */
export const MAX_FRAME_BYTES = 4_096;

/**
 * What the log says about an account: the sequence and the source offset of the last sample that
 * counted.
 */
export interface LogState {
  readonly sequence: number;
  readonly to: number;
}

/** An account before its first sample. */
export const BEFORE_FIRST: LogState = Object.freeze({ sequence: 0, to: -1 });

/**
 * The place of a sample in its account's stream; `from` exclusive, `to` inclusive, offsets in
 * `trading.valuations`.
 */
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
