import { markerKey, type PartitionCheckpoint, type SampleCheckpoint } from "@kapi/contracts";

import { decodeCheckpoint, decodeMarker, sequenceOfCheckpoint } from "../domain/codec/checkpoint.ts";
import { type CheckpointAt, type RestoredPartition, readStart, startingPoint } from "../domain/restore.ts";
import type { SampleLog } from "./sample-log.ts";
import type { UnreadableRecords } from "./unreadable-records.ts";

/** A record of `metrics.latest`. */
export interface CheckpointRecord {
  readonly key: string;
  readonly value: Buffer;
  readonly offset: bigint;
}

/** The records of one partition of `metrics.latest` that are read so far. */
interface PartitionRecords {
  /** The newest marker; null if there is none or it cannot be decoded. */
  marker: CheckpointAt<PartitionCheckpoint> | null;
  /** The checkpoint with the highest sequence of each account, as text: decoded only at the end. */
  readonly accounts: Map<string, CheckpointAt<string>>;
  /** The newest checkpoint of each account, if an earlier one has a higher sequence. */
  readonly stale: Map<string, string>;
  /** Accounts with a tombstone. */
  readonly deleted: Set<string>;
}

/**
 * Restores accounts from the records of `metrics.latest`. A record that cannot be decoded counts as
 * missing: the start then reads more of the log, and loses no sample.
 */
export class Restoration {
  readonly #unreadable: UnreadableRecords;
  readonly #partitionOf: (key: string) => number;
  readonly #partitions = new Map<number, PartitionRecords>();

  constructor(unreadable: UnreadableRecords, partitionOf: (key: string) => number) {
    this.#unreadable = unreadable;
    this.#partitionOf = partitionOf;
  }

  /** Adds records of one partition of `metrics.latest`, in log order. */
  addRecords(partition: number, records: readonly CheckpointRecord[]): void {
    const latest: PartitionRecords = this.#partitions.get(partition) ?? {
      marker: null,
      accounts: new Map(),
      stale: new Map(),
      deleted: new Set(),
    };
    this.#partitions.set(partition, latest);
    for (const record of records) {
      const at = Number(record.offset);
      if (record.key === markerKey(partition)) {
        const marker = decodeMarker(record.value.toString("utf8"));
        if ("fault" in marker) this.#unreadable.report("marker", record.key, marker);
        latest.marker = "fault" in marker ? null : { value: marker, at };
      } else if (this.#partitionOf(record.key) !== partition) {
        // When the topic grew, the account's checkpoint was moved to another partition.
        continue;
      } else if (record.value.length === 0) {
        latest.accounts.delete(record.key);
        latest.stale.delete(record.key);
        latest.deleted.add(record.key);
      } else keepHighestSequence(latest, record.key, { value: record.value.toString("utf8"), at });
    }
  }

  /**
   * Adds the restored accounts of the partitions in `begins` to `log`, and removes deleted ones.
   * @param begins the first offset that each partition of `metrics.samples` still has.
   * @param windowOffsets the `windowOffset` of each partition ({@link readStart}).
   * @param oldestWindows the `oldestWindow` of each partition ({@link startingPoint}).
   * @returns the offset from which to read each partition, and by account the stale checkpoints
   * that would remain in `metrics.latest` after its compaction.
   */
  finish(
    log: SampleLog,
    begins: ReadonlyMap<number, bigint>,
    windowOffsets: ReadonlyMap<number, bigint>,
    oldestWindows: ReadonlyMap<number, bigint>,
  ): { starts: Map<number, bigint>; stale: ReadonlyMap<string, string> } {
    const starts = new Map<number, bigint>();
    const stale = new Map<string, string>();
    for (const latest of this.#partitions.values()) for (const [key, value] of latest.stale) stale.set(key, value);
    for (const [partition, begin] of begins) {
      const { deleted, ...latest } = this.#found(partition);
      const wanted = readStart(latest, Number(windowOffsets.get(partition) ?? begin));
      const start = Math.max(wanted, Number(begin));
      const oldest = Number(oldestWindows.get(partition) ?? begin);
      for (const key of deleted) log.remove(key);
      for (const [key, { value }] of latest.accounts) {
        log.restore(partition, key, value, startingPoint(value, start, oldest));
      }
      log.begin(partition, start);
      starts.set(partition, BigInt(start));
    }
    this.#partitions.clear();
    return { starts, stale };
  }

  /**
   * Decodes the records of a partition. If an account's checkpoint cannot be decoded, the marker is
   * left out, so that the whole log is read.
   */
  #found(partition: number): RestoredPartition & { readonly deleted: ReadonlySet<string> } {
    const latest = this.#partitions.get(partition);
    const accounts = new Map<string, CheckpointAt<SampleCheckpoint>>();
    if (latest === undefined) return { marker: null, accounts, deleted: new Set() };
    let { marker } = latest;
    for (const [key, { value, at }] of latest.accounts) {
      const checkpoint = decodeCheckpoint(value);
      if (!("fault" in checkpoint)) accounts.set(key, { value: checkpoint, at });
      else {
        this.#unreadable.report("checkpoint", key, checkpoint);
        marker = null;
      }
    }
    return { marker, accounts, deleted: latest.deleted };
  }
}

/**
 * Keeps the checkpoint with the highest sequence, not the newest one: a writer that had lost the
 * partition may have written last.
 */
function keepHighestSequence(latest: PartitionRecords, key: string, record: CheckpointAt<string>): void {
  const highest = latest.accounts.get(key);
  if (highest !== undefined && sequenceOfCheckpoint(record.value) < sequenceOfCheckpoint(highest.value)) {
    latest.stale.set(key, record.value);
    return;
  }
  latest.accounts.set(key, record);
  latest.stale.delete(key);
}
