import type { PartitionCheckpoint, SampleCheckpoint } from "@kapi/contracts";

import { BEFORE_FIRST, type LogState } from "./judge.ts";

/**
 * Where reading and judging begin again after a restart. A checkpoint only ever saves reading:
 * whatever is missing or stale is judged again from an earlier place, never guessed.
 */

/** A record of `metrics.latest` as it was read. */
export interface Found<T> {
  readonly value: T;
  /** Offset of the record in `metrics.latest`. */
  readonly at: number;
}

/** What `metrics.latest` says of one partition. */
export interface PartitionFinding {
  readonly marker: Found<PartitionCheckpoint> | null;
  /** Newest checkpoint per account key. */
  readonly accounts: ReadonlyMap<string, Found<SampleCheckpoint>>;
}

/** How an account is taken up. */
export interface StartingPoint {
  readonly state: LogState;
  /**
   * Samples below this offset of `metrics.samples` are passed over: they are known to be in
   * `state`.
   */
  readonly judgeFrom: number;
  /** Whether the checkpoint's own frame is the account's newest sample at this point. */
  readonly takeFrame: boolean;
}

/** An account of which no checkpoint tells: judged from the first record that is read. */
export const WITHOUT_CHECKPOINT: StartingPoint = { state: BEFORE_FIRST, judgeFrom: 0, takeFrame: false };

/**
 * The offset of `metrics.samples` from which a partition must be read: its marker (everything
 * before is in the checkpoints), or `windowOffset` (the offset at the beginning of the replay
 * window) if that is earlier; and, so that windows come back whole, the first sample that the
 * checkpoint of a lately active account held.
 *
 * A checkpoint that the marker's writer had not read back when it wrote the marker, of a sample
 * before the marker, may be that of a writer that had lost the partition, and have replaced a newer
 * one; so the log is read from there on. An honest one, of the same turn as the marker, is of an
 * account that was active lately: its window is read anyway.
 */
export function readStart(finding: PartitionFinding, windowOffset: number): number {
  const { marker, accounts } = finding;
  if (marker === null) return 0;
  let start = Math.min(marker.value.samplesOffset, windowOffset);
  for (const { value, at } of accounts.values()) {
    if (isStale(marker, value, at)) start = Math.min(start, value.window.offset);
    else if (value.offset >= windowOffset) start = Math.min(start, value.window.offset);
  }
  return start;
}

/** How the account of `checkpoint` is taken up when its partition is read from `start`. */
export function startingPoint(checkpoint: SampleCheckpoint, start: number): StartingPoint {
  const { window } = checkpoint;
  if (window.offset >= start) {
    return {
      state: { sequence: window.sequence - 1, to: window.from },
      judgeFrom: window.offset,
      takeFrame: false,
    };
  }
  return {
    state: { sequence: checkpoint.sequence, to: checkpoint.to },
    judgeFrom: checkpoint.offset + 1,
    takeFrame: true,
  };
}

function isStale(marker: Found<PartitionCheckpoint>, checkpoint: SampleCheckpoint, at: number): boolean {
  return at >= marker.value.latestOffset && checkpoint.offset < marker.value.samplesOffset;
}

/** Key of a partition's marker in `metrics.latest`. */
export function markerKey(partition: number): string {
  return `partition/${partition}`;
}
