/**
 * Where reading starts after a restart, or after a takeover of a partition. A checkpoint only
 * shortens the reading. If a checkpoint is missing or stale, the samples are applied again from an
 * earlier offset. All offsets here are positions (`topic-position.ts`).
 */
import type { PartitionCheckpoint, SampleCheckpoint } from "@kapi/contracts";

import { BEFORE_FIRST, type LogState } from "./acceptance-rule.ts";

/** A record of `metrics.latest` as it was read. */
export interface CheckpointAt<T> {
  readonly value: T;
  /** Offset of the record in `metrics.latest`. */
  readonly at: number;
}

/** The records of one partition of `metrics.latest`. */
export interface RestoredPartition {
  readonly marker: CheckpointAt<PartitionCheckpoint> | null;
  /** Newest checkpoint per account key. */
  readonly accounts: ReadonlyMap<string, CheckpointAt<SampleCheckpoint>>;
}

/** How an account is restored. */
export interface StartingPoint {
  /** The state from which the acceptance rule continues. */
  readonly state: LogState;
  /**
   * Samples below this offset of `metrics.samples` are skipped: `state` includes them.
   */
  readonly acceptFrom: number;
  /**
   * Whether the checkpoint's frame goes into the window, because the log is not read from the start
   * of that window.
   */
  readonly restoreFrame: boolean;
  /**
   * Whether new checkpoints keep the window start of the restored checkpoint: true if this process
   * reads only a part of the window, but others can restore the whole window from that start.
   */
  readonly keepsWindowStart: boolean;
}

/** For an account without a checkpoint: the rule applies from the first record that is read. */
export const WITHOUT_CHECKPOINT: StartingPoint = {
  state: BEFORE_FIRST,
  acceptFrom: 0,
  restoreFrame: false,
  keepsWindowStart: false,
};

/**
 * Returns the offset of `metrics.samples` from which a partition is read: 0 without a marker,
 * otherwise the lowest of these offsets:
 * - the marker's `samplesOffset`: checkpoints include every sample before this offset
 * - `windowOffset`: the start of the replay window. A takeover does not read the window: then
 *   `windowOffset` is the offset of the current time
 * - the window start of each recently active account. An account is recently active if the sample
 *   of its checkpoint is at or after `windowOffset`
 * - the window start of each checkpoint that may be stale
 *
 * A checkpoint may be stale if its record is at or after the marker's `latestOffset`, but its
 * sample is before the marker's `samplesOffset`: a writer that had lost the partition may have
 * replaced a newer checkpoint.
 */
export function readStart(restored: RestoredPartition, windowOffset: number): number {
  const { marker, accounts } = restored;
  if (marker === null) return 0;
  let start = Math.min(marker.value.samplesOffset, windowOffset);
  for (const { value, at } of accounts.values()) {
    if (isStale(marker, value, at)) start = Math.min(start, value.window.offset);
    else if (value.offset >= windowOffset) start = Math.min(start, value.window.offset);
  }
  return start;
}

/**
 * Returns how the account of `checkpoint` is restored if its partition is read from `start`. New
 * checkpoints do not keep a window start before `oldestWindow`: a restart would read too much.
 */
export function startingPoint(checkpoint: SampleCheckpoint, start: number, oldestWindow: number): StartingPoint {
  const { window } = checkpoint;
  if (window.offset >= start) {
    return {
      state: { sequence: window.sequence - 1, to: window.from },
      acceptFrom: window.offset,
      restoreFrame: false,
      keepsWindowStart: false,
    };
  }
  return {
    state: { sequence: checkpoint.sequence, to: checkpoint.to },
    acceptFrom: checkpoint.offset + 1,
    restoreFrame: true,
    keepsWindowStart: window.offset >= oldestWindow,
  };
}

/** Whether the checkpoint may be stale ({@link readStart}). */
function isStale(marker: CheckpointAt<PartitionCheckpoint>, checkpoint: SampleCheckpoint, at: number): boolean {
  return at >= marker.value.latestOffset && checkpoint.offset < marker.value.samplesOffset;
}
