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
  readonly rejections: Rejections;
  readonly unreadable: UnreadableRecords;
  readonly isServer: (serverId: string) => boolean;
  /** The partition of `trading.valuations` for an account's records. */
  readonly partitionOf: (key: string) => number;
  /** Minimum time between two samples of an account if only prices change; 0: no minimum. */
  readonly coalesceMs: number;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** The context of all partitions. */
export interface SequencerContext extends SequencerOptions {
  hasRoom(): boolean;
  /** Resolves when more samples may be sent. */
  room(): Promise<void>;
  send(partition: number, key: string, range: SampleRange, frame: Buffer, lost: () => void): void;
  /** Resolves when all sends to the partition so far have ended. */
  settled(partition: number): Promise<void>;
  foreignSamples(): void;
}
