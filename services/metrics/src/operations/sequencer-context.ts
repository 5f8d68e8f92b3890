import type { SampleRange } from "@kapi/contracts/codec";
import type { Clock } from "@kapi/kernel";
import type { Logger } from "@kapi/runtime";

import type { AccountExistence, SampleProgress, SampleSink } from "../domain/ports.ts";
import type { Rejections } from "./rejections.ts";
import type { SampleLog } from "./sample-log.ts";
import type { UnreadableRecords } from "./unreadable-records.ts";

/** The dependencies of the sequencer. */
export interface SequencerOptions {
  readonly log: SampleLog;
  readonly sink: SampleSink;
  readonly progress: SampleProgress;
  readonly existence: AccountExistence;
  readonly rejections: Pick<Rejections, "reject">;
  readonly unreadable: UnreadableRecords;
  /** Whether kapi has the trading server. */
  readonly isServer: (serverId: string) => boolean;
  /** The partition of `trading.valuations` for an account's records. */
  readonly partitionOf: (key: string) => number;
  /** Minimum time between two samples of an account if only prices change; 0: no minimum. */
  readonly coalesceMs: number;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** The dependencies of the sequencers of the partitions. */
export interface SequencerContext extends SequencerOptions {
  /** Whether more samples may be sent. */
  hasRoom(): boolean;
  /** Resolves when more samples may be sent. */
  room(): Promise<void>;
  /** Sends a sample. `lost` is called if it is unknown whether the sample is in the log. */
  send(partition: number, key: string, range: SampleRange, frame: Buffer, lost: () => void): void;
  /** Resolves when all sends to the partition so far have ended. */
  settled(partition: number): Promise<void>;
  /** Counts an accepted sample of another writer. */
  countForeignSample(): void;
}
