import type { SampleCheckpoint } from "@kapi/contracts";

import type { LogState } from "./judge.ts";
import type { SampleWindow } from "./sample-windows.ts";

/** `from` of a sample that was taken from a checkpoint, which does not tell it. */
export const FROM_UNKNOWN = -2;

/**
 * One account's stream of judged samples, as this process has read it. Only `SampleLog` changes it.
 */
export interface AccountStream extends LogState {
  /** serverId/accountNumber. */
  readonly key: string;
  readonly serverId: string;
  readonly accountNumber: string;
  readonly partition: number;
  /** Offset in `metrics.samples` of the newest sample that counted. */
  readonly offset: number;
  readonly window: SampleWindow;
  /**
   * The window start of the checkpoint it was restored from, while no sample read from the log
   * takes its place.
   */
  readonly anchor: SampleCheckpoint["window"] | null;
  /**
   * Sequence of the checkpoint it was restored from: samples up to it need no new one. 0 without a
   * checkpoint.
   */
  readonly checkpointed: number;
}
