import type { SampleCheckpoint } from "@kapi/contracts";
import type { Logger } from "@kapi/runtime";

import type { AccountStream } from "../domain/account-stream.ts";
import { encodeCheckpoint, encodeMarker } from "../domain/codec/checkpoint.ts";
import type { CheckpointSink } from "../domain/ports.ts";
import { markerKey } from "../domain/restore.ts";
import type { SampleListener, SampleLog } from "./sample-log.ts";

/** Checkpoints on their way at once. */
const MAX_WRITES_AT_ONCE = 1_000;
/** What stands in `metrics.latest` for an account that is gone for good. */
const TOMBSTONE = "";

export interface CheckpointsOptions {
  readonly log: SampleLog;
  readonly sink: CheckpointSink;
  /** The partitions that this process sequences: of others it writes none. */
  readonly partitions: () => readonly number[];
  readonly logger: Logger;
}

/**
 * Keeps `metrics.latest` near the log: per account its newest sample, per partition up to where all
 * accounts are in. A marker is written only after every checkpoint that it speaks of is durable. It
 * also reads `metrics.latest` back: an older checkpoint than the account's state, left by a writer
 * that had lost the partition, is written over; and the marker tells how far that had been read
 * when its turn began, since one that came in later may have replaced what it speaks of.
 */
export class Checkpoints implements SampleListener {
  readonly #options: CheckpointsOptions;
  /** Accounts with samples that are not in a checkpoint, by partition. */
  #changed = new Map<number, Map<string, AccountStream>>();
  #deleted = new Map<number, Set<string>>();
  readonly #marked = new Map<number, number>();
  /** The offset in `metrics.latest` before which everything has been read back, by partition. */
  readonly #readTo = new Map<number, number>();
  #running: Promise<void> | null = null;

  constructor(options: CheckpointsOptions) {
    this.#options = options;
  }

  accepted(stream: AccountStream): void {
    // What is read again after a restart stands in its checkpoint already.
    if (stream.sequence > stream.checkpointed) this.#change(stream);
  }

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

  /**
   * `metrics.latest` holds nothing of what was written any more: the next turn writes every
   * account.
   */
  changeAll(): void {
    for (const stream of this.#options.log.streams()) this.#change(stream);
  }

  /** A checkpoint was read back from `metrics.latest`. */
  readBack(key: string, checkpoint: SampleCheckpoint): void {
    const { log } = this.#options;
    const stream = log.find(key);
    if (stream !== undefined && checkpoint.sequence < stream.sequence) this.#change(stream);
  }

  /**
   * Everything before `offset` of a partition of `metrics.latest` has been read, and told to
   * `readBack` or restored.
   */
  readUpTo(partition: number, offset: number): void {
    this.#readTo.set(partition, offset);
  }

  /** Writes what has changed; a call that comes while one is running waits for that one. */
  write(): Promise<void> {
    return this.#running ?? this.#run(this.#options.partitions());
  }

  /**
   * Writes what has changed in these partitions: the last of it, before the process ends. "all" is
   * for a topic that was made again: whoever wrote a partition last may be gone, and every process
   * knows all samples. Of the checkpoints that several processes write of one account, a start
   * takes the one with the highest sequence.
   */
  async leave(partitions: readonly number[] | "all"): Promise<void> {
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
    // What another process sequences is in its care; should the partition come here, the log since
    // its marker is known.
    for (const partition of this.#changed.keys()) if (!owned.has(partition)) this.#marked.delete(partition);
    // A deletion writes over the checkpoint itself, so that the partition's owner dependencies not know
    // what is collected here.
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
      for (const key of deletedKeys) await sink.write(partition, key, TOMBSTONE);
      let batch: Promise<void>[] = [];
      for (const stream of changed.values()) {
        if (log.find(stream.key) !== stream) continue;
        batch.push(sink.write(partition, stream.key, encodeCheckpoint(this.#checkpointOf(stream))));
        if (batch.length < MAX_WRITES_AT_ONCE) continue;
        await Promise.all(batch);
        batch = [];
      }
      await Promise.all(batch);
      await sink.write(partition, markerKey(partition), encodeMarker({ samplesOffset, latestOffset }));
      this.#marked.set(partition, samplesOffset);
    } catch (error) {
      logger.warn({ err: error, partition }, "checkpoints were not written; the next turn writes them");
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
      window: log.anchorOf(stream),
      frame: log.newest(stream).toString("utf8"),
    };
  }
}
