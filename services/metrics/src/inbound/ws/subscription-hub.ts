import type { Clock } from "@kapi/kernel";

import { type Cursor, type KeptRange, type Replay, resumeCursor } from "../../domain/cursor.ts";
import type { SampledAccount, SampleSource } from "../../domain/sample-source.ts";
import type { SocketWriter } from "./socket-writer.ts";

/**
 * Minimum time between two flushes, so that samples share one write per socket. Only
 * {@link MAX_UNSENT} causes an earlier flush.
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
/** Interval of the attempts to open subscriptions that wait. */
const OPEN_INTERVAL_MS = 100;
const NOTHING_KEPT: KeptRange = { first: 1, last: 0 };

const NO_BYTES = Buffer.alloc(0);

/** Samples of an account, as read from its window. */
interface Piece {
  readonly from: number;
  readonly bytes: Buffer;
  readonly next: number;
}

/**
 * A subscription of a socket to one account. It has a cursor in the account's window and no queue.
 */
export interface Subscription {
  readonly key: string;
  readonly writer: SocketWriter;
  /** The next sequence to send; null until the subscription is open. */
  next: number | null;
  /** Returns where the subscription starts; null: it waits, and `open` is called again later. */
  open(kept: KeptRange, nowMs: number): Cursor | null;
  /** Sends a replay notice. */
  sendReplay(replay: Replay): void;
  /** Sends samples from `from` on, as the hub read them. */
  sendSamples(bytes: Buffer, from: number): void;
  /** Sends the message that the account was deleted. Called after the subscription has ended. */
  sendDeleted(): void;
}

/** Reads samples from a kept sequence on, in the form that the subscriptions of a hub send. */
type ReadSamples = (
  account: SampledAccount,
  fromSequence: number,
  maxBytes: number,
) => { readonly bytes: Buffer; readonly next: number };

/** Sends the samples of a source to the subscribers, each from its own cursor. */
export class SubscriptionHub {
  readonly #source: Pick<SampleSource, "find" | "kept">;
  readonly #read: ReadSamples;
  readonly #clock: Clock;
  readonly #subscriptions = new Map<string, Set<Subscription>>();
  /** Subscriptions that are not open yet. */
  readonly #waiting = new Set<Subscription>();
  #openTimer: NodeJS.Timeout | null = null;
  /** Accounts with new samples since the last flush, and the first sequence of these samples. */
  #dirty = new Map<SampledAccount, number>();
  #scheduled = false;
  #urgent = false;
  #flushedAtMs = Number.NEGATIVE_INFINITY;

  constructor(options: { source: Pick<SampleSource, "find" | "kept">; read: ReadSamples; clock: Clock }) {
    this.#source = options.source;
    this.#read = options.read;
    this.#clock = options.clock;
  }

  /** Sends a new sample of the account soon. */
  accepted(stream: SampledAccount): void {
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

  /** Adds a subscription, opens it if it need not wait, and sends the missed samples. */
  add(subscription: Subscription): void {
    const subscribers = this.#subscriptions.get(subscription.key);
    if (subscribers === undefined) this.#subscriptions.set(subscription.key, new Set([subscription]));
    else subscribers.add(subscription);
    this.advance(subscription);
  }

  /** Ends a subscription without a message. */
  remove(subscription: Subscription): void {
    this.#waiting.delete(subscription);
    const subscribers = this.#subscriptions.get(subscription.key);
    if (subscribers?.delete(subscription) === true && subscribers.size === 0) {
      this.#subscriptions.delete(subscription.key);
    }
  }

  /** Ends the subscriptions of a deleted account with a message. */
  deleted(key: string): void {
    const subscribers = this.#subscriptions.get(key);
    if (subscribers === undefined) return;
    this.#subscriptions.delete(key);
    for (const subscription of subscribers) {
      this.#waiting.delete(subscription);
      subscription.sendDeleted();
    }
  }

  /**
   * After a socket's buffer has drained: sends its subscriptions their samples, each from its
   * cursor on. Returns whether the socket still has room.
   */
  advanceAll<Key>(subscriptions: Map<Key, Subscription>): boolean {
    // A served subscription moves to the end of the map, so that all take turns on a slow network.
    // A round serves the subscriptions that exist at its start.
    for (const [key, subscription] of Array.from(subscriptions)) {
      subscriptions.delete(key);
      subscriptions.set(key, subscription);
      this.advance(subscription);
      if (subscription.writer.stalledSinceMs !== null) return false;
    }
    return true;
  }

  /** Sends a subscription its samples from its cursor on, while its socket has room. */
  advance(subscription: Subscription): void {
    const nowMs = this.#clock.nowMs();
    const { writer } = subscription;
    if (!writer.hasRoom(nowMs)) return;
    const stream = this.#source.find(subscription.key);
    const kept = stream === undefined ? NOTHING_KEPT : this.#source.kept(stream);
    const cursor = subscription.next === null ? this.#open(subscription, kept) : resumeCursor(kept, subscription.next);
    if (cursor === null) return;
    let { next } = cursor;
    subscription.next = next;
    if (cursor.replay !== null) subscription.sendReplay(cursor.replay);
    if (stream === undefined) return;
    while (next <= kept.last && writer.hasRoom(nowMs)) {
      const piece = this.#read(stream, next, MAX_PIECE_BYTES);
      subscription.sendSamples(piece.bytes, next);
      ({ next } = piece);
      subscription.next = next;
    }
  }

  #open(subscription: Subscription, kept: KeptRange): Cursor | null {
    const cursor = subscription.open(kept, this.#clock.nowMs());
    if (cursor === null) this.#waiting.add(subscription);
    else this.#waiting.delete(subscription);
    this.#openWaitingLater();
    return cursor;
  }

  #openWaitingLater(): void {
    if (this.#waiting.size === 0 || this.#openTimer !== null) return;
    this.#openTimer = setTimeout(() => {
      this.#openTimer = null;
      for (const subscription of Array.from(this.#waiting)) this.advance(subscription);
      this.#openWaitingLater();
    }, OPEN_INTERVAL_MS);
  }

  /** Flushes before the interval ends, so that no sample leaves the window before it is sent. */
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
  #sendTo(stream: SampledAccount, nowMs: number, touched: Set<SocketWriter>): void {
    const subscribers = this.#subscriptions.get(stream.key);
    if (subscribers === undefined || this.#source.find(stream.key) !== stream) return;
    const kept = this.#source.kept(stream);
    let piece: Piece = { from: Number.NaN, bytes: NO_BYTES, next: Number.NaN };
    for (const subscription of subscribers) {
      const { writer, next } = subscription;
      if (next !== null && next > kept.last) continue;
      if (!writer.hasRoom(nowMs)) continue;
      touched.add(writer);
      if (next === null || next < kept.first) {
        this.advance(subscription);
        continue;
      }
      if (piece.from !== next) piece = { from: next, ...this.#read(stream, next, MAX_PIECE_BYTES) };
      subscription.sendSamples(piece.bytes, next);
      subscription.next = piece.next;
      if (piece.next <= kept.last) this.advance(subscription);
    }
  }
}
