import type { AccountDeletedFrame } from "@kapi/contracts";
import type { Clock } from "@kapi/kernel";
import { counter } from "@kapi/runtime";

import type { AccountStream } from "../../domain/account-stream.ts";
import { type KeptRange, openCursor, replayText, resumeCursor } from "../../domain/cursor.ts";
import { textFrame } from "../../domain/websocket-frame.ts";
import type { AccountId } from "../../domain/sample.ts";
import type { SampleListener, SampleLog } from "../../operations/sample-log.ts";
import type { SocketWriter } from "./socket-writer.ts";

const truncations = counter(
  "metrics.replays.truncated",
  "Subscribers that got a replay notice with missed samples",
  "{replay}",
);

/**
 * Minimum time between two flushes, so that samples share one write per socket.
 */
const FLUSH_INTERVAL_MS = 5;
/**
 * Number of unsent samples of one account that causes a flush at once; well below the window size.
 */
const MAX_UNSENT = 100;
/**
 * Maximum number of bytes read from a window at once. The socket's buffer is checked before the
 * next piece.
 */
const MAX_PIECE_BYTES = 64 * 1_024;
const NOTHING_KEPT: KeptRange = { first: 1, last: 0 };

const NO_BYTES = Buffer.alloc(0);

interface Piece {
  readonly from: number;
  readonly bytes: Buffer;
  readonly next: number;
}

/** A socket's subscription to one account. It has a cursor in the account's window and no queue. */
export interface Subscription {
  readonly key: string;
  readonly account: AccountId;
  readonly writer: SocketWriter;
  /** Where the client wants to start; null once the subscription has started. */
  opening: { readonly afterSequence: number | undefined } | null;
  /** The next sequence to send. */
  next: number;
  /** Called when the account was deleted, after the client got the message. */
  readonly onDeleted: () => void;
}

/** Sends the samples of the log to the subscribers, each from its own cursor. */
export class SubscriptionHub implements SampleListener {
  readonly #log: SampleLog;
  readonly #clock: Clock;
  readonly #subscriptions = new Map<string, Set<Subscription>>();
  /** Accounts with unsent samples, and the first unsent sequence. */
  #dirty = new Map<AccountStream, number>();
  #scheduled = false;
  #urgent = false;
  #flushedAtMs = Number.NEGATIVE_INFINITY;

  constructor(options: { log: SampleLog; clock: Clock }) {
    this.#log = options.log;
    this.#clock = options.clock;
  }

  accepted(stream: AccountStream): void {
    if (!this.#subscriptions.has(stream.key)) return;
    const first = this.#dirty.get(stream);
    if (first === undefined) this.#dirty.set(stream, stream.sequence);
    else if (stream.sequence - first >= MAX_UNSENT) this.#flushSoon();
    if (this.#scheduled) return;
    this.#scheduled = true;
    const waitMs = this.#flushedAtMs + FLUSH_INTERVAL_MS - this.#clock.nowMs();
    if (waitMs > 0) setTimeout(() => this.#flushScheduled(), Math.min(waitMs, FLUSH_INTERVAL_MS));
    else setImmediate(() => this.#flushScheduled());
  }

  /** Starts a subscription and sends the missed samples. */
  add(subscription: Subscription): void {
    const subscribers = this.#subscriptions.get(subscription.key);
    if (subscribers === undefined) this.#subscriptions.set(subscription.key, new Set([subscription]));
    else subscribers.add(subscription);
    this.advance(subscription);
  }

  remove(subscription: Subscription): void {
    const subscribers = this.#subscriptions.get(subscription.key);
    if (subscribers?.delete(subscription) === true && subscribers.size === 0) {
      this.#subscriptions.delete(subscription.key);
    }
  }

  /** Ends the subscriptions of a deleted account with a message. */
  deleted(key: string): void {
    const subscribers = this.#subscriptions.get(key);
    const [first] = subscribers ?? [];
    if (subscribers === undefined || first === undefined) return;
    this.#subscriptions.delete(key);
    const { serverId, accountNumber } = first.account;
    const frame: AccountDeletedFrame = { type: "account.deleted", serverId, accountNumber };
    const bytes = textFrame(JSON.stringify(frame));
    for (const subscription of subscribers) {
      subscription.writer.push(bytes);
      subscription.onDeleted();
    }
  }

  /** Sends a subscription its samples from its cursor on, while its socket has room. */
  advance(subscription: Subscription): void {
    const nowMs = this.#clock.nowMs();
    const { writer } = subscription;
    if (!writer.hasRoom(nowMs)) return;
    const stream = this.#log.find(subscription.key);
    const kept = stream === undefined ? NOTHING_KEPT : this.#log.kept(stream);
    const { opening } = subscription;
    const cursor = opening === null ? resumeCursor(kept, subscription.next) : openCursor(kept, opening.afterSequence);
    subscription.opening = null;
    subscription.next = cursor.next;
    if (cursor.replay?.replayTruncated === true) truncations.add(1);
    if (cursor.replay !== null) writer.push(textFrame(replayText(subscription.account, cursor.replay)));
    if (stream === undefined) return;
    while (subscription.next <= kept.last && writer.hasRoom(nowMs)) {
      const { bytes, next } = this.#log.frames(stream, subscription.next, MAX_PIECE_BYTES);
      writer.push(bytes);
      subscription.next = next;
    }
  }

  /**
   * Flushes before the interval ends, so that no sample is dropped from the window unsent.
   */
  #flushSoon(): void {
    if (this.#urgent) return;
    this.#urgent = true;
    setImmediate(() => this.#flush());
  }

  #flushScheduled(): void {
    this.#scheduled = false;
    this.#flush();
  }

  #flush(): void {
    this.#urgent = false;
    this.#flushedAtMs = this.#clock.nowMs();
    const dirty = this.#dirty;
    this.#dirty = new Map();
    const touched = new Set<SocketWriter>();
    for (const stream of dirty.keys()) this.#sendTo(stream, this.#flushedAtMs, touched);
    for (const writer of touched) writer.flush();
  }

  /**
   * Sends an account's unsent samples. Subscribers with equal cursors share one piece of bytes.
   */
  #sendTo(stream: AccountStream, nowMs: number, touched: Set<SocketWriter>): void {
    const subscribers = this.#subscriptions.get(stream.key);
    if (subscribers === undefined || this.#log.find(stream.key) !== stream) return;
    const kept = this.#log.kept(stream);
    let piece: Piece = { from: Number.NaN, bytes: NO_BYTES, next: Number.NaN };
    for (const subscription of subscribers) {
      const { writer, next } = subscription;
      if (next > kept.last) continue;
      if (!writer.hasRoom(nowMs)) continue;
      touched.add(writer);
      if (subscription.opening !== null || next < kept.first) {
        this.advance(subscription);
        continue;
      }
      if (piece.from !== next) piece = { from: next, ...this.#log.frames(stream, next, MAX_PIECE_BYTES) };
      writer.push(piece.bytes);
      subscription.next = piece.next;
      if (piece.next <= kept.last) this.advance(subscription);
    }
  }
}
