import { z } from "zod";

/**
 * Headers of a record of `metrics.samples`, decimal text. The value is byte for byte the WebSocket
 * frame (`AccountMetricsFrame`). A sample is accepted only if `sequence` is the account's last
 * sequence + 1 and `from` equals the account's last `to` (architecture, 3.5).
 */
export const SAMPLE_HEADERS = {
  sequence: "sequence",
  /**
   * The `to` of the account's previous sample. -1 for the account's first sample, and for the first
   * sample after the account moved to another partition (decisions, 28).
   */
  from: "from",
  /** Position in `trading.valuations` of the last valuation ({@link OFFSETS_PER_GENERATION}). */
  to: "to",
  /**
   * Only on a record without a value: the account was deleted, and later samples are ignored.
   */
  deleted: "deleted",
} as const;

/**
 * Value of a record of `metrics.latest`: an account's newest accepted sample. `window` describes
 * the oldest sample that the writer still had in memory. From this sample on, a reader can apply
 * the acceptance rule to the log again.
 */
export const SampleCheckpoint = z.object({
  sequence: z.int().min(1),
  /** -1: the account moved to another partition, and has no valuation there yet (decisions, 28). */
  to: z.int().min(-1),
  /** Position of the sample in `metrics.samples`; -1: the sample is on a former partition. */
  offset: z.int().min(-1),
  window: z.object({ sequence: z.int().min(1), from: z.int().min(-1), offset: z.int().min(-1) }),
  /** The frame, as text. */
  frame: z.string(),
});
export type SampleCheckpoint = z.infer<typeof SampleCheckpoint>;

/** The checkpoint of an account that moves to another partition: its sequence continues there. */
export function movedCheckpoint({ sequence, frame }: SampleCheckpoint): SampleCheckpoint {
  return { sequence, to: -1, offset: -1, window: { sequence, from: -1, offset: -1 }, frame };
}

/**
 * A position is the generation of a topic times this number, plus the offset: positions stay
 * ordered when the topic is recreated. All offsets of this file, also `from` and `to`, are
 * positions. The number is larger than any offset of a partition: 10,000 records a second
 * reach it after 55 years.
 */
export const OFFSETS_PER_GENERATION = 2 ** 44;

/** Key of the marker of a partition. The marker is in the same partition of `metrics.latest`. */
export function markerKey(partition: number): string {
  return `partition/${partition}`;
}

/**
 * Value of a marker ({@link markerKey}). The checkpoints include every sample of the partition
 * below the offset `samplesOffset`. Before the marker was written, its writer had read
 * `metrics.latest` up to `latestOffset`. Records from `latestOffset` on may be from another writer.
 */
export const PartitionCheckpoint = z.object({ samplesOffset: z.int().min(0), latestOffset: z.int().min(0) });
export type PartitionCheckpoint = z.infer<typeof PartitionCheckpoint>;
