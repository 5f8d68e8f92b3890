import type { AccountDeletedFrame, AccountRef } from "@kapi/contracts";
import { counter } from "@kapi/runtime";

import { type Cursor, type KeptRange, openCursor, type Replay, replayText } from "../../domain/cursor.ts";
import { textFrame } from "../../domain/websocket-frame.ts";
import type { SocketWriter } from "./socket-writer.ts";
import type { Subscription } from "./subscription-hub.ts";

const truncations = counter(
  "metrics.replays.truncated",
  "Replay notices with `replayTruncated`: samples are missing, or `afterSequence` is above the last sequence",
  "{replay}",
);

/** A client's subscription to an account. It sends samples as WebSocket frames. */
export class ClientSubscription implements Subscription {
  readonly key: string;
  readonly account: AccountRef;
  readonly writer: SocketWriter;
  next: number | null = null;
  readonly #afterSequence: number | undefined;
  readonly #catchUpTimeoutMs: number;
  /** Until when to wait for `afterSequence`; null: `open` has not had to wait. */
  #catchUpUntilMs: number | null = null;
  readonly #onDeleted: () => void;

  /** `onDeleted` is called after the message of the account's deletion was sent. */
  constructor(options: {
    readonly key: string;
    readonly account: AccountRef;
    readonly writer: SocketWriter;
    readonly afterSequence: number | undefined;
    readonly catchUpTimeoutMs: number;
    readonly onDeleted: () => void;
  }) {
    this.key = options.key;
    this.account = options.account;
    this.writer = options.writer;
    this.#afterSequence = options.afterSequence;
    this.#catchUpTimeoutMs = options.catchUpTimeoutMs;
    this.#onDeleted = options.onDeleted;
  }

  /**
   * Returns the start of the subscription, or null to wait. A client that was connected to another
   * process can know a later sequence than this process, which is behind for a moment. The
   * subscription waits for that sequence, at most `catchUpTimeoutMs`.
   */
  open(kept: KeptRange, nowMs: number): Cursor | null {
    if (this.#afterSequence !== undefined && this.#afterSequence > kept.last) {
      this.#catchUpUntilMs ??= nowMs + this.#catchUpTimeoutMs;
      if (nowMs < this.#catchUpUntilMs) return null;
    }
    return openCursor(kept, this.#afterSequence);
  }

  sendReplay(replay: Replay): void {
    if (replay.replayTruncated) truncations.add(1);
    this.writer.push(textFrame(replayText(this.account, replay)));
  }

  sendSamples(frames: Buffer): void {
    this.writer.push(frames);
  }

  sendDeleted(): void {
    const { serverId, accountNumber } = this.account;
    const frame: AccountDeletedFrame = { type: "account.deleted", serverId, accountNumber };
    this.writer.push(textFrame(JSON.stringify(frame)));
    this.#onDeleted();
  }
}
