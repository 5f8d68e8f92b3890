import type { Clock } from "@kapi/kernel";
import type { Logger } from "@kapi/runtime";

import type { Span } from "../domain/judge.ts";
import type { AccountExistence, SampleProgress, SampleSink } from "../domain/ports.ts";
import type { Rejections } from "./rejections.ts";
import type { SampleLog } from "./sample-log.ts";
import type { UnreadableRecords } from "./unreadable-records.ts";

/** What the sequencer needs. */
export interface SequencerOptions {
  readonly log: SampleLog;
  readonly sink: SampleSink;
  readonly progress: SampleProgress;
  readonly existence: AccountExistence;
  readonly rejections: Rejections;
  readonly unreadable: UnreadableRecords;
  readonly isServer: (serverId: string) => boolean;
  /** The partition of `trading.valuations` on which everything of an account is. */
  readonly partitionOf: (key: string) => number;
  /**
   * Least time between two samples of an account that only prices have moved; 0: every valuation is
   * a sample.
   */
  readonly coalesceMs: number;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** What the partitions share. */
export interface SequencerContext extends SequencerOptions {
  hasRoom(): boolean;
  /** Resolves when there is room for more samples on their way to the log. */
  room(): Promise<void>;
  send(partition: number, key: string, span: Span, frame: Buffer, lost: () => void): void;
  /** Resolves when nothing that was sent to the partition so far is on its way. */
  settled(partition: number): Promise<void>;
  takenByAnother(): void;
}
