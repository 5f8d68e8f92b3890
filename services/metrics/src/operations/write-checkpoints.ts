import { markerKey, type SampleCheckpoint } from "@kapi/contracts";
import type { Logger } from "@kapi/runtime";

import type { AccountStream } from "../domain/account-stream.ts";
import { encodeCheckpoint, encodeMarker } from "../domain/codec/checkpoint.ts";
import type { CheckpointSink } from "../domain/ports.ts";
import type { SampleListener, SampleLog } from "./sample-log.ts";

/** Maximum number of concurrent checkpoint writes. */
const MAX_CONCURRENT_WRITES = 1_000;

/** The dependencies of {@link Checkpoints}. */
export interface CheckpointsOptions {
  readonly log: SampleLog;
  readonly sink: CheckpointSink;
  /** The partitions that this process sequences; `write` writes checkpoints only for them. */
  readonly partitions: () => readonly number[];
  readonly logger: Logger;
}

/**
 * Writes `metrics.latest`: the newest sample of each account, and a marker for each partition. The
 * marker has the offset of `metrics.samples` below which the checkpoints include every sample. It
 * is written only after these checkpoints are durable, and not if the partition was dropped before.
 *
 * The reader of `metrics.latest` passes its records to `readBack`, which replaces stale checkpoints
 * of writers that had lost the partition. The marker also has `latestOffset`: how far
 * `metrics.latest` had been read when the write began. Records from there on may be stale
 * checkpoints that replaced newer ones.
 */
export class Checkpoints implements SampleListener {
  readonly #options: CheckpointsOptions;
  /** Accounts whose checkpoint is to be written, by partition. */
  #changed = new Map<number, Map<string, AccountStream>>();
  /** Accounts whose tombstone is not written yet, by partition. */
  #deleted = new Map<number, Set<string>>();
  /** The offset of `metrics.samples` in the last written marker, by partition. */
  readonly #marked = new Map<number, number>();
  /** The offset in `metrics.latest` before which everything has been read back, by partition. */
  readonly #readTo = new Map<number, number>();
  #running: Promise<void> | null = null;

  constructor(options: CheckpointsOptions) {
    this.#options = options;
  }

  /** An account has a new sample. */
  accepted(stream: AccountStream): void {
    // Samples that are read again after a restart are already in the checkpoint.
    if (stream.sequence > stream.checkpointed) this.#change(stream);
  }

  /** Lets the next write include the account. */
  #change(stream: AccountStream): void {
    const changed = this.#changed.get(stream.partition);
    if (changed === undefined) this.#changed.set(stream.partition, new Map([[stream.key, stream]]));
    else changed.set(stream.key, stream);
  }

  removed(stream: AccountStream): void {
    this.#changed.get(stream.partition)?.delete(stream.key);
    const deletedKeys = this.#deleted.get(stream.partition) ?? new Set();
    this.#deleted.set(stream.partition, deletedKeys.add(stream.key));
  }

  dropped(partition: number): void {
    for (const state of [this.#changed, this.#deleted, this.#marked, this.#readTo]) state.delete(partition);
  }

  /** Lets the next write include every account: `metrics.latest` was recreated. */
  changeAll(): void {
    for (const stream of this.#options.log.streams()) this.#change(stream);
  }

  /** Replaces a checkpoint that was read back from `metrics.latest`, if it is stale. */
  readBack(key: string, checkpoint: SampleCheckpoint): void {
    const { log } = this.#options;
    const stream = log.find(key);
    if (stream !== undefined && checkpoint.sequence < stream.sequence) this.#change(stream);
  }

  /**
   * Every record before `offset` of a partition of `metrics.latest` has been restored or passed to
   * `readBack`.
   */
  readUpTo(partition: number, offset: number): void {
    this.#readTo.set(partition, offset);
  }

  /**
   * Writes the checkpoints of changed accounts, the tombstones, and the markers. A call during a
   * write waits for that write. Failures are logged, and the next write includes the same accounts.
   */
  write(): Promise<void> {
    return this.#running ?? this.#run(this.#options.partitions());
  }

  /**
   * Writes the last checkpoints of these partitions before the process ends. "all" is for a
   * recreated topic, because the sequencer of a partition may have ended already. "all" means every
   * partition with accounts whose checkpoint or tombstone this process has not written yet. Several
   * processes may write the same account: a start uses the checkpoint with the highest sequence.
   */
  async writeLast(partitions: readonly number[] | "all"): Promise<void> {
    while (this.#running !== null) await this.#running;
    await this.#run(
      partitions === "all" ? [...new Set([...this.#changed.keys(), ...this.#deleted.keys()])] : partitions,
    );
  }

  #run(partitions: readonly number[]): Promise<void> {
    this.#running = this.#writeAll(partitions).finally(() => {
      this.#running = null;
    });
    return this.#running;
  }

  async #writeAll(partitions: readonly number[]): Promise<void> {
    const owned = new Set(partitions);
    for (const partition of owned) await this.#writePartition(partition);
    // Another process writes the markers of other partitions. If this process gets such a partition
    // back, it writes the marker again.
    for (const partition of this.#changed.keys()) if (!owned.has(partition)) this.#marked.delete(partition);
    // deleteTradingAccountMetrics writes the tombstone too, so these tombstones can be dropped.
    for (const partition of this.#deleted.keys()) if (!owned.has(partition)) this.#deleted.delete(partition);
  }

  async #writePartition(partition: number): Promise<void> {
    const { log, sink, logger } = this.#options;
    const samplesOffset = log.position(partition);
    const latestOffset = this.#readTo.get(partition) ?? 0;
    const changed = this.#changed.get(partition) ?? new Map<string, AccountStream>();
    const deletedKeys = this.#deleted.get(partition) ?? new Set<string>();
    if (changed.size + deletedKeys.size === 0 && this.#marked.get(partition) === samplesOffset) return;
    this.#changed.delete(partition);
    this.#deleted.delete(partition);
    try {
      for (const key of deletedKeys) await sink.write(partition, key, null);
      let batch: Promise<void>[] = [];
      let isDropped = false;
      for (const stream of changed.values()) {
        if (log.find(stream.key) !== stream) {
          isDropped ||= !log.isDeleted(stream.key);
          continue;
        }
        batch.push(sink.write(partition, stream.key, encodeCheckpoint(this.#checkpointOf(stream))));
        if (batch.length < MAX_CONCURRENT_WRITES) continue;
        await Promise.all(batch);
        batch = [];
      }
      await Promise.all(batch);
      // The checkpoints of a dropped partition are incomplete: a marker would promise that they
      // include every sample.
      if (isDropped) return;
      await sink.write(partition, markerKey(partition), encodeMarker({ samplesOffset, latestOffset }));
      this.#marked.set(partition, samplesOffset);
    } catch (error) {
      logger.warn({ err: error, partition }, "checkpoints were not written; the next write includes them");
      for (const stream of changed.values()) if (log.find(stream.key) === stream) this.#change(stream);
      for (const key of deletedKeys) this.#deleted.set(partition, (this.#deleted.get(partition) ?? new Set()).add(key));
    }
  }

  #checkpointOf(stream: AccountStream): SampleCheckpoint {
    const { log } = this.#options;
    return {
      sequence: stream.sequence,
      to: stream.to,
      offset: stream.offset,
      window: log.windowStartOf(stream),
      frame: log.newest(stream).toString("utf8"),
    };
  }
}
