import type { AccountStream } from "./account-stream.ts";
import type { KeptRange } from "./cursor.ts";
import type { AccountId } from "./sample.ts";

/** What a source needs of an account's stream. */
export type SampledAccount = Pick<AccountStream, "key" | "sequence" | "window">;

/** An account whose samples a socket wants, from `follow` until `end`. */
export interface Follow {
  /**
   * Whether the account exists. Once it is known to exist, its retained samples are in the source.
   * A promise that is not answered yet when `end` is called is never answered.
   */
  readonly exists: boolean | Promise<boolean>;
  /** Call once. */
  readonly end: () => void;
}

/**
 * Where the samples for sockets come from: the log itself, or the process that holds the account's
 * window.
 */
export interface SampleSource {
  /** An account that was deleted has no samples again. */
  isDeleted(key: string): boolean;
  follow(key: string, account: AccountId): Follow;
  /** The stream of an account; undefined without samples. */
  find(key: string): SampledAccount | undefined;
  /** The sequences kept now. */
  kept(account: SampledAccount): KeptRange;
  /** WebSocket frames from a kept sequence on: those that fit into `maxBytes`, at least one. */
  frames(account: SampledAccount, fromSequence: number, maxBytes: number): { bytes: Buffer; next: number };
}
