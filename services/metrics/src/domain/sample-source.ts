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
   * Whether the account exists. When a promise resolves with true, the source has the account's
   * retained samples. After `end`, a pending promise can stay pending forever.
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
  /** Whether the source knows that the account was deleted, or that it does not exist. */
  isDeleted(key: string): boolean;
  /** Starts to follow an account. */
  follow(key: string, account: AccountRef): Follow;
  /** Returns the stream of an account; undefined if the source has no samples of the account. */
  find(key: string): SampledAccount | undefined;
  /** Returns the sequences that the account's window keeps now. */
  kept(account: SampledAccount): KeptRange;
  /**
   * Returns the WebSocket frames of samples from a kept sequence on: as many frames as fit into
   * `maxBytes`, but at least one. `next` is the sequence after them.
   */
  frames(account: SampledAccount, fromSequence: number, maxBytes: number): { bytes: Buffer; next: number };
}
