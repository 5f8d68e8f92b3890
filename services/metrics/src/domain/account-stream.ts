import type { SampleCheckpoint } from "@kapi/contracts";

import type { LogState } from "./acceptance-rule.ts";
import type { SampleWindow } from "./sample-windows.ts";

/** `from` of a sample that was restored from a checkpoint: checkpoints do not store it. */
export const FROM_UNKNOWN = -2;

/**
 * One account's accepted samples, as read by this process. Only `SampleLog` changes it.
 */
export interface AccountStream extends LogState {
  /** serverId/accountNumber. */
  readonly key: string;
  readonly serverId: string;
  readonly accountNumber: string;
  readonly partition: number;
  /** Position in `metrics.samples` of the newest accepted sample; -1 before it is known. */
  readonly offset: number;
  readonly window: SampleWindow;
  /**
   * The window start of the checkpoint from which the account was restored. New checkpoints get
   * this window start; null: the start of `window`. An accepted sample sets this field to null.
   * With `StartingPoint.keepsWindowStart`, accepted samples leave the field set until the maximum
   * age of samples in a window has passed since the restore.
   */
  readonly windowStart: SampleCheckpoint["window"] | null;
  /**
   * Sequence of the checkpoint from which this process restored the account; 0 if there was none.
   * Samples up to this sequence need no new checkpoint.
   */
  readonly checkpointed: number;
}
