/**
 * The values of records of `metrics.latest`: the checkpoint of each account, and the marker of each
 * partition. A marker has the offset of `metrics.samples` below which checkpoints include every
 * sample ({@link PartitionCheckpoint}).
 */
import { PartitionCheckpoint, type SampleCheckpoint } from "@kapi/contracts";
import { type DecodeFailure, jsonOf } from "@kapi/contracts/codec";

/** How the text of a checkpoint begins. */
const SEQUENCE_FIRST = '{"sequence":';
const NO_CHECKPOINT: DecodeFailure = { reason: "malformed", fault: "not a checkpoint" };
const NO_MARKER: DecodeFailure = { reason: "malformed", fault: "not a marker" };

/** Encodes a checkpoint, with the sequence first, for {@link sequenceOfCheckpoint}. */
export function encodeCheckpoint({ sequence, to, offset, window, frame }: SampleCheckpoint): string {
  return JSON.stringify({ sequence, to, offset, window, frame });
}

/**
 * Decodes a checkpoint. It is validated by hand, because a restart decodes a checkpoint of every
 * account, and the schema takes several times as long.
 */
export function decodeCheckpoint(text: string): SampleCheckpoint | DecodeFailure {
  const found = jsonOf(text);
  if ("fault" in found) return found;
  if (!isObject(found.json)) return NO_CHECKPOINT;
  const { sequence, to, offset, window, frame } = found.json as Partial<SampleCheckpoint>;
  const isWhole =
    isFrom(1, sequence) &&
    isFrom(-1, to) &&
    isFrom(-1, offset) &&
    typeof frame === "string" &&
    isObject(window) &&
    isFrom(1, window.sequence) &&
    isFrom(-1, window.from) &&
    isFrom(-1, window.offset);
  return isWhole ? (found.json as SampleCheckpoint) : NO_CHECKPOINT;
}

/**
 * Reads the sequence at the beginning of a checkpoint's text; NaN if the text begins otherwise.
 */
export function sequenceOfCheckpoint(text: string): number {
  return text.startsWith(SEQUENCE_FIRST) ? Number.parseInt(text.slice(SEQUENCE_FIRST.length), 10) : Number.NaN;
}

/** Encodes the marker of a partition. */
export function encodeMarker({ samplesOffset, latestOffset }: PartitionCheckpoint): string {
  return JSON.stringify({ samplesOffset, latestOffset });
}

/** Decodes the marker of a partition. */
export function decodeMarker(text: string): PartitionCheckpoint | DecodeFailure {
  const found = jsonOf(text);
  if ("fault" in found) return found;
  return PartitionCheckpoint.safeParse(found.json).data ?? NO_MARKER;
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Whether the value is a safe integer of at least `lowest`. */
function isFrom(lowest: number, value: unknown): boolean {
  return Number.isSafeInteger(value) && Number(value) >= lowest;
}
