import type { AccountId } from "./sample.ts";
import type { Span } from "./judge.ts";

/** Writes samples to the log, and knows where the log ends. */
export interface SampleSink {
  /** Resolves when the sample is in the log; rejects where that is not known. */
  write(partition: number, key: string, span: Span, frame: Buffer): Promise<void>;
  /** The offset after the last sample of a partition. */
  endOf(partition: number): Promise<bigint>;
}

/** How far this process itself has read the samples. */
export interface SampleProgress {
  /** Resolves when every sample of `partition` before `end` has been judged here; rejects after `timeoutMs`. */
  reached(partition: number, end: bigint, timeoutMs: number): Promise<void>;
}

/** Keeps checkpoints: per key the last value counts. */
export interface CheckpointSink {
  write(partition: number, key: string, value: string): Promise<void>;
}

/** Whether accounts exist. */
export interface AccountExistence {
  /** One answer per account, in order. Rejects when it cannot be told now. */
  exist(accounts: readonly AccountId[]): Promise<readonly boolean[]>;
}
