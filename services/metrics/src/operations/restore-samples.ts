import type { PartitionCheckpoint, SampleCheckpoint } from "@kapi/contracts";

import { decodeCheckpoint, decodeMarker, sequenceOfCheckpoint } from "../domain/codec/checkpoint.ts";
import { type Found, markerKey, type PartitionFinding, readStart, startingPoint } from "../domain/restore.ts";
import type { SampleLog } from "./sample-log.ts";
import type { UnreadableRecords } from "./unreadable-records.ts";

/** A record of `metrics.latest`. */
export interface CheckpointRecord {
  readonly key: string;
  readonly value: Buffer;
  readonly offset: bigint;
}

interface Finding {
  marker: Found<PartitionCheckpoint> | null;
  /**
   * Of each account the record with the highest sequence, not looked into before the topic's end is
   * reached.
   */
  readonly accounts: Map<string, Found<string>>;
  /** Of each account whose newest record has a lower sequence, that record. */
  readonly stale: Map<string, string>;
  readonly gone: Set<string>;
}

/**
 * Reads `metrics.latest` to its end and takes every account up from it. A record that is no
 * checkpoint is passed over as if it were missing: that costs reading, never a sample.
 */
export class Restoration {
  readonly #unreadable: UnreadableRecords;
  readonly #findings = new Map<number, Finding>();

  constructor(unreadable: UnreadableRecords) {
    this.#unreadable = unreadable;
  }

  /** Takes in records of one partition of `metrics.latest`, in log order. */
  take(partition: number, records: readonly CheckpointRecord[]): void {
    const finding: Finding = this.#findings.get(partition) ?? {
      marker: null,
      accounts: new Map(),
      stale: new Map(),
      gone: new Set(),
    };
    this.#findings.set(partition, finding);
    for (const record of records) {
      const at = Number(record.offset);
      if (record.key === markerKey(partition)) {
        const marker = decodeMarker(record.value.toString("utf8"));
        if ("fault" in marker) this.#unreadable.report("marker", record.key, marker);
        finding.marker = "fault" in marker ? null : { value: marker, at };
      } else if (record.value.length === 0) {
        finding.accounts.delete(record.key);
        finding.stale.delete(record.key);
        finding.gone.add(record.key);
      } else takeCheckpoint(finding, record.key, { value: record.value.toString("utf8"), at });
    }
  }

  /**
   * Puts the accounts into `log`.
   * @param begins the first offset kept of each partition of `metrics.samples`.
   * @param windowOffsets the offset of each partition at the beginning of the replay window.
   * @returns from where each partition must be read; and the stale records, by account, that
   * `metrics.latest` would be left with after its compaction.
   */
  finish(
    log: SampleLog,
    begins: ReadonlyMap<number, bigint>,
    windowOffsets: ReadonlyMap<number, bigint>,
  ): { starts: Map<number, bigint>; stale: ReadonlyMap<string, string> } {
    const starts = new Map<number, bigint>();
    const stale = new Map<string, string>();
    for (const finding of this.#findings.values()) for (const [key, value] of finding.stale) stale.set(key, value);
    for (const [partition, begin] of begins) {
      const { gone, ...finding } = this.#found(partition);
      const wanted = readStart(finding, Number(windowOffsets.get(partition) ?? begin));
      const start = Math.max(wanted, Number(begin));
      for (const key of gone) log.remove(key);
      for (const [key, { value }] of finding.accounts) log.restore(partition, key, value, startingPoint(value, start));
      log.begin(partition, start);
      starts.set(partition, BigInt(start));
    }
    this.#findings.clear();
    return { starts, stale };
  }

  /**
   * What the records of a partition say. Where an account's newest one cannot be read, no marker
   * speaks for the partition.
   */
  #found(partition: number): PartitionFinding & { readonly gone: ReadonlySet<string> } {
    const finding = this.#findings.get(partition);
    const accounts = new Map<string, Found<SampleCheckpoint>>();
    if (finding === undefined) return { marker: null, accounts, gone: new Set() };
    let { marker } = finding;
    for (const [key, { value, at }] of finding.accounts) {
      const checkpoint = decodeCheckpoint(value);
      if (!("fault" in checkpoint)) accounts.set(key, { value: checkpoint, at });
      else {
        this.#unreadable.report("checkpoint", key, checkpoint);
        marker = null;
      }
    }
    return { marker, accounts, gone: finding.gone };
  }
}

/**
 * A process that knew less may have written after one that knew more: the highest sequence counts,
 * not the newest record.
 */
function takeCheckpoint(finding: Finding, key: string, record: Found<string>): void {
  const highest = finding.accounts.get(key);
  if (highest !== undefined && sequenceOfCheckpoint(record.value) < sequenceOfCheckpoint(highest.value)) {
    finding.stale.set(key, record.value);
    return;
  }
  finding.accounts.set(key, record);
  finding.stale.delete(key);
}
