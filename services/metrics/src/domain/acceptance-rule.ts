/**
 * The acceptance rule (architecture, 3.5): a sample counts only if its sequence is the account's
 * last + 1 and its `from` is the last `to`, in log order. Every process applies the rule to every
 * sample that it reads, so all processes agree. A repeated send, or a writer that lost its
 * partition, cannot fork or repeat a sequence, and cannot lose a valuation.
 *
 * The rule must not depend on configuration or time: processes with different rules would send
 * different streams to their clients.
 */
import type { SampleRange } from "@kapi/contracts/codec";

/** Maximum size of the value of an accepted sample. The largest frame has less than 700 bytes. */
export const MAX_FRAME_BYTES = 4_096;

/** The state of an account in the log. */
export interface LogState {
  /** The sequence of the last accepted sample; 0 before the first. */
  readonly sequence: number;
  /**
   * Position in `trading.valuations` of the last valuation in an accepted sample; -1: none, or the
   * account has moved to another partition since.
   */
  readonly to: number;
}

/** The state of an account before its first sample. */
export const BEFORE_FIRST: LogState = Object.freeze({ sequence: 0, to: -1 });

/**
 * The acceptance rule: whether a sample with `range`, whose value has `frameBytes` bytes, is the
 * account's next one after `state`.
 */
export function acceptSample(state: LogState, range: SampleRange, frameBytes: number): boolean {
  return (
    range.sequence === state.sequence + 1 &&
    range.from === state.to &&
    range.to > range.from &&
    frameBytes > 0 &&
    frameBytes <= MAX_FRAME_BYTES
  );
}

/** Whether two ranges of one account belong to the same sample. */
export function sameRange(left: SampleRange, right: SampleRange): boolean {
  return left.sequence === right.sequence && left.from === right.from && left.to === right.to;
}
