/**
 * The acceptance rule (architecture, 3.5): a sample counts only if its sequence is the account's
 * last + 1 and its `from` is the last `to`, in log order. Every process applies the rule to every
 * sample, so all processes agree. A writer that lost its partition, a repeated send or a foreign
 * record cannot fork or repeat a sequence, and cannot lose a valuation.
 *
 * The rule must not depend on configuration or time: processes with different rules would send
 * different streams to their clients.
 */
import type { SampleRange } from "@kapi/contracts/codec";

/**
 * Maximum value size of an accepted sample. The largest frame takes under 700 bytes.
 */
export const MAX_FRAME_BYTES = 4_096;

/**
 * The state of an account in the log: sequence and source offset of its last accepted sample.
 */
export interface LogState {
  readonly sequence: number;
  readonly to: number;
}

/** An account before its first sample. */
export const BEFORE_FIRST: LogState = Object.freeze({ sequence: 0, to: -1 });

/** Whether a sample of `frameBytes` bytes is the next one after `state`. */
export function acceptSample(state: LogState, range: SampleRange, frameBytes: number): boolean {
  return (
    range.sequence === state.sequence + 1 &&
    range.from === state.to &&
    range.to > range.from &&
    frameBytes > 0 &&
    frameBytes <= MAX_FRAME_BYTES
  );
}

/** Whether both are the same sample of an account. */
export function sameRange(left: SampleRange, right: SampleRange): boolean {
  return left.sequence === right.sequence && left.from === right.from && left.to === right.to;
}
