import type { AccountRef } from "@kapi/contracts";
import type { AccountStream } from "./account-stream.ts";
import type { KeptRange } from "./cursor.ts";

/** The part of an account's stream that a source and the sockets need. */
export type SampledAccount = Pick<AccountStream, "key" | "sequence" | "window">;

/**
 * The use of an account's samples by one connection, from `SampleSource.follow` until `end`. The
 * source keeps the account's samples until then.
 */
export interface Follow {
  /**
   * Whether the account exists. Once that is known, the source has the account's retained samples.
   * A promise that is pending when `end` is called stays pending.
   */
  readonly exists: boolean | Promise<boolean>;
  /** Tells the source that the connection no longer needs the samples. Call it once. */
  readonly end: () => void;
}

/**
 * Where the samples for sockets come from: the log itself, or the process that holds the account's
 * window.
 */
export interface SampleSource {
  /** Whether the account was deleted: then it gets no more samples. */
  isDeleted(key: string): boolean;
  /** Starts to follow an account. */
  follow(key: string, account: AccountRef): Follow;
  /** Returns the stream of an account; undefined if it has no samples. */
  find(key: string): SampledAccount | undefined;
  /** Returns the sequences that the account's window keeps now. */
  kept(account: SampledAccount): KeptRange;
  /**
   * Returns the WebSocket frames of samples from a kept sequence on: as many frames as fit into
   * `maxBytes`, but at least one. `next` is the sequence after them.
   */
  frames(account: SampledAccount, fromSequence: number, maxBytes: number): { bytes: Buffer; next: number };
}
