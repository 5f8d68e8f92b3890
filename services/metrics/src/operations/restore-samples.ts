import { PartitionCheckpoint, SampleCheckpoint } from "@kapi/contracts";
import type { Logger } from "@kapi/runtime";
import type { z } from "zod";

import { type Found, markerKey, type PartitionFinding, readStart, startingPoint } from "../domain/restore.ts";
import type { SampleLog } from "./sample-log.ts";

/** A record of `metrics.latest`. */
export interface CheckpointRecord {
  readonly key: string;
  readonly value: Buffer;
  readonly offset: bigint;
}

interface Finding extends PartitionFinding {
  marker: Found<PartitionCheckpoint> | null;
  readonly accounts: Map<string, Found<SampleCheckpoint>>;
  readonly gone: Set<string>;
}

/**
 * Reads `metrics.latest` to its end and takes every account up from it. A record that is no checkpoint is passed over as
 * if it were missing: that costs reading, never a sample.
 */
export class Restoration {
  readonly #logger: Logger;
  readonly #findings = new Map<number, Finding>();

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /** Takes in records of one partition of `metrics.latest`, in log order. */
  take(partition: number, records: readonly CheckpointRecord[]): void {
    const finding: Finding = this.#findings.get(partition) ?? { marker: null, accounts: new Map(), gone: new Set() };
    this.#findings.set(partition, finding);
    for (const record of records) {
      const at = Number(record.offset);
      if (record.key === markerKey(partition)) {
        const marker = this.#read(PartitionCheckpoint, record);
        finding.marker = marker === null ? null : { value: marker, at };
      } else if (record.value.length === 0) {
        finding.accounts.delete(record.key);
        finding.gone.add(record.key);
      } else {
        const checkpoint = this.#read(SampleCheckpoint, record);
        if (checkpoint === null) finding.accounts.delete(record.key);
        else finding.accounts.set(record.key, { value: checkpoint, at });
        if (checkpoint === null) finding.marker = null;
      }
    }
  }

  /**
   * Puts the accounts into `log`.
   * @param begins the first offset kept of each partition of `metrics.samples`.
   * @param windowOffsets the offset of each partition at the beginning of the replay window.
   * @returns from where each partition must be read.
   */
  finish(
    log: SampleLog,
    begins: ReadonlyMap<number, bigint>,
    windowOffsets: ReadonlyMap<number, bigint>,
  ): Map<number, bigint> {
    const starts = new Map<number, bigint>();
    for (const [partition, begin] of begins) {
      const finding = this.#findings.get(partition) ?? { marker: null, accounts: new Map(), gone: new Set<string>() };
      const wanted = readStart(finding, Number(windowOffsets.get(partition) ?? begin));
      const start = Math.max(wanted, Number(begin));
      for (const key of finding.gone) log.remove(key);
      for (const [key, { value }] of finding.accounts) log.restore(partition, key, value, startingPoint(value, start));
      log.begin(partition, start);
      starts.set(partition, BigInt(start));
    }
    this.#findings.clear();
    return starts;
  }

  #read<S extends z.ZodType>(schema: S, record: CheckpointRecord): z.output<S> | null {
    const checkpoint = readCheckpoint(schema, record.value);
    if (checkpoint === null) this.#logger.warn({ key: record.key }, "a record of metrics.latest is not a checkpoint");
    return checkpoint;
  }
}

/** A value of `metrics.latest`; null if it is not of this shape. */
export function readCheckpoint<S extends z.ZodType>(schema: S, value: Buffer): z.output<S> | null {
  let json: unknown;
  try {
    json = JSON.parse(value.toString("utf8"));
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
  const parsed = schema.safeParse(json);
  return parsed.success ? parsed.data : null;
}
