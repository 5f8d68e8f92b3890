import {
  accountKey,
  type ClientMessage,
  type ConnectedFrame,
  ERRORS,
  type KeyEntry,
  LIVE_CLOSE_CODES,
  LIVE_METRICS_SCOPE,
  type LiveErrorFrame,
  type SubscribeMessage,
} from "@kapi/contracts";
import { authorize, type Directory, isInForce } from "@kapi/admission";
import { ApiError } from "@kapi/http";
import { type Clock, monotonicClock } from "@kapi/kernel";
import type { WebSocket } from "ws";

import { pongFrame, textFrame } from "../../domain/websocket-frame.ts";
import type { Follow, SampleSource } from "../../domain/sample-source.ts";
import { errorFrame, messageFromWire, PONG } from "./client-messages.ts";
import { ClientSubscription } from "./client-subscription.ts";
import type { SubscriptionHub } from "./subscription-hub.ts";
import { countClose } from "./live-measures.ts";
import type { SocketWriter } from "./socket-writer.ts";
import { ReadRateLimiter } from "./read-rate-limiter.ts";

/** Number of unanswered pings after which the connection is terminated. */
export const MAX_UNANSWERED_PINGS = 3;
/** The code of a connection that ended without a close frame (RFC 6455, 7.1.5). */
const ABNORMAL_CLOSURE = 1006;

/** The dependencies of all sockets. */
export interface LiveContext {
  readonly source: SampleSource;
  readonly hub: SubscriptionHub;
  readonly directory: Directory;
  readonly clock: Clock;
  readonly limits: {
    /**
     * Maximum number of subscriptions of a socket. A socket is not read while at least this many of
     * its messages wait.
     */
    readonly maxSubscriptions: number;
    readonly maxMessagesPerSecond: number;
    /** How long a socket may stay stalled before it is closed. */
    readonly stuckTimeoutMs: number;
    /** How long a subscription waits for an `afterSequence` above the last known sequence. */
    readonly catchUpTimeoutMs: number;
  };
}

/**
 * One live connection: reads the client's messages and keeps its subscriptions. Messages for one
 * account are answered in order, and do not wait for messages of other accounts.
 */
export class LiveSocket {
  readonly keyId: string;
  readonly organizationId: string;
  readonly #context: LiveContext;
  readonly #ws: WebSocket;
  readonly #writer: SocketWriter;
  readonly #rate: ReadRateLimiter;
  readonly #subscriptions = new Map<string, ClientSubscription>();
  /** Accounts that the source must keep: those with a subscription or waiting messages. */
  readonly #follows = new Map<string, Follow>();
  /** Messages that wait until it is known whether their account exists, by account. */
  readonly #waiting = new Map<string, ClientMessage[]>();
  #waitingMessages = 0;
  readonly #closed = new AbortController();
  #key: KeyEntry;
  #resume: NodeJS.Timeout | null = null;
  #unansweredPings = 0;

  constructor(options: {
    context: LiveContext;
    ws: WebSocket;
    writer: SocketWriter;
    key: KeyEntry;
    sessionId: string;
  }) {
    this.#context = options.context;
    this.#ws = options.ws;
    this.#writer = options.writer;
    this.#key = options.key;
    this.keyId = options.key.keyId;
    this.organizationId = options.key.organizationId;
    this.#rate = new ReadRateLimiter(this.#context.limits.maxMessagesPerSecond, monotonicClock);
    const connected: ConnectedFrame = { type: "connected", sessionId: options.sessionId };
    this.#writer.push(textFrame(JSON.stringify(connected)));
    this.#ws.on("message", (data, isBinary) => this.#receive(data, isBinary));
    this.#ws.on("ping", (payload) => this.#receivePing(payload));
    this.#ws.on("pong", () => {
      this.#unansweredPings = 0;
    });
    this.#ws.on("close", () => this.#end());
  }

  /** Number of subscriptions. */
  get subscriptions(): number {
    return this.#subscriptions.size;
  }

  /** Unsent bytes of this client. */
  get bufferedBytes(): number {
    return this.#writer.bufferedBytes;
  }

  /** Whether the socket gets no samples until its buffer has drained. */
  get isStalled(): boolean {
    return this.#writer.stalledSinceMs !== null;
  }

  /** Resumes each subscription at its cursor: the buffer has drained. */
  drained(): void {
    if (this.#context.hub.advanceAll(this.#subscriptions)) this.#readAgain();
  }

  /**
   * Closes the connection if it has been stalled too long, or if its key was revoked, has expired
   * or has lost the scope; called every second.
   */
  check(nowMs: number): void {
    if (this.#closed.signal.aborted) return;
    const stalledSinceMs = this.#writer.stalledSinceMs;
    if (!this.#mayStay(this.#key, nowMs)) this.close(LIVE_CLOSE_CODES.keyRevoked);
    else if (stalledSinceMs !== null && nowMs - stalledSinceMs >= this.#context.limits.stuckTimeoutMs) {
      this.close(LIVE_CLOSE_CODES.slowConsumer);
    }
  }

  /**
   * Pings the client. Terminates the connection after {@link MAX_UNANSWERED_PINGS} unanswered
   * pings. Pings are not counted while reading is paused or the socket is stalled.
   */
  ping(): void {
    if (this.#closed.signal.aborted) return;
    if (this.#unansweredPings >= MAX_UNANSWERED_PINGS) return this.#terminateUnanswered();
    if (!this.#ws.isPaused && this.#writer.stalledSinceMs === null) this.#unansweredPings += 1;
    this.#ws.ping();
  }

  /** Applies a change of the key. */
  keyChanged(key: KeyEntry): void {
    this.#key = key;
    if (!this.#mayStay(key, this.#context.clock.nowMs())) this.close(LIVE_CLOSE_CODES.keyRevoked);
    else this.accessChanged();
  }

  /** Ends the subscriptions to accounts whose server the key no longer reaches. */
  accessChanged(): void {
    for (const subscription of this.#subscriptions.values()) {
      if (!this.#rejectAccess(subscription.account)) continue;
      this.#unsubscribe(subscription.key);
      this.#endUnusedFollow(subscription.key);
    }
  }

  /** Flushes pending frames and closes. */
  close(code: number): void {
    // Count only the first close.
    if (!this.#closed.signal.aborted) countClose(code);
    this.#writer.flush();
    this.#end();
    if (this.#ws.isPaused) this.#ws.resume();
    this.#ws.close(code);
  }

  /** Ends the connection without a close frame. */
  terminate(): void {
    this.#ws.terminate();
  }

  #terminateUnanswered(): void {
    countClose(ABNORMAL_CLOSURE);
    this.terminate();
  }

  #end(): void {
    this.#closed.abort();
    if (this.#resume !== null) clearTimeout(this.#resume);
    this.#resume = null;
    for (const subscription of this.#subscriptions.values()) this.#context.hub.remove(subscription);
    for (const follow of this.#follows.values()) follow.end();
    this.#subscriptions.clear();
    this.#follows.clear();
    this.#waiting.clear();
    this.#waitingMessages = 0;
  }

  #receive(data: Buffer | ArrayBuffer | Buffer[], isBinary: boolean): void {
    if (this.#closed.signal.aborted) return;
    this.#unansweredPings = 0;
    const read = messageFromWire(toBuffer(data), isBinary);
    if (read.kind === "ping") this.#writer.push(PONG);
    else if (read.kind === "invalid") this.#error(read.frame);
    else this.#handle(read.message);
    this.#paceReading(this.#rate.countMessage());
  }

  /** Answers a ping frame. It counts as a message, so that the number of pings is limited. */
  #receivePing(payload: Buffer): void {
    if (this.#closed.signal.aborted) return;
    this.#unansweredPings = 0;
    this.#writer.push(pongFrame(payload));
    this.#paceReading(this.#rate.countMessage());
  }

  /**
   * Pauses reading for `pauseMs`. Also pauses reading while the client does not read its answers,
   * or while too many of its messages wait.
   */
  #paceReading(pauseMs: number): void {
    const full = !this.#writer.hasRoom(this.#context.clock.nowMs());
    if (pauseMs > 0) {
      if (this.#resume !== null) clearTimeout(this.#resume);
      this.#resume = setTimeout(() => {
        this.#resume = null;
        this.#readAgain();
      }, pauseMs);
    }
    if (pauseMs > 0 || full || this.#waitingMessages >= this.#context.limits.maxSubscriptions) this.#ws.pause();
  }

  /** Resumes reading, unless there is still a reason to pause. */
  #readAgain(): void {
    const mayRead = this.#resume === null && this.#writer.stalledSinceMs === null;
    if (mayRead && this.#waitingMessages < this.#context.limits.maxSubscriptions) this.#ws.resume();
  }

  #handle(message: ClientMessage): void {
    const key = accountKey(message.serverId, message.accountNumber);
    if (this.#waiting.has(key)) this.#wait(message, key);
    else if (message.type === "unsubscribe") {
      this.#unsubscribe(key);
      this.#endUnusedFollow(key);
    } else if (this.#mayAdd(message, key)) this.#subscribeIfExists(message, key);
  }

  /** Whether the account may have a subscription; otherwise sends the error. */
  #mayAdd(message: SubscribeMessage, key: string): boolean {
    if (this.#rejectAccess(message)) return false;
    if (this.#subscriptions.has(key) || this.#subscriptions.size < this.#context.limits.maxSubscriptions) return true;
    this.#error({
      type: "error",
      code: "TOO_MANY_SUBSCRIPTIONS",
      error: `A connection has at most ${this.#context.limits.maxSubscriptions} subscriptions`,
      serverId: message.serverId,
      accountNumber: message.accountNumber,
    });
    return false;
  }

  #subscribeIfExists(message: SubscribeMessage, key: string): void {
    if (this.#subscriptions.has(key)) return this.#subscribe(message, key);
    const { serverId, accountNumber } = message;
    const follow = this.#context.source.follow(key, { serverId, accountNumber });
    this.#follows.set(key, follow);
    if (typeof follow.exists !== "boolean") {
      this.#wait(message, key);
      void this.#answerWhenKnown(follow.exists, key);
    } else if (follow.exists) this.#subscribe(message, key);
    else {
      this.#endUnusedFollow(key);
      this.#notFound(message);
    }
  }

  #wait(message: ClientMessage, key: string): void {
    const waiting = this.#waiting.get(key);
    if (waiting === undefined) this.#waiting.set(key, [message]);
    else waiting.push(message);
    this.#waitingMessages += 1;
  }

  /** Answers waiting messages once it is known whether their account exists. */
  async #answerWhenKnown(existence: Promise<boolean>, key: string): Promise<void> {
    const exists = await existence;
    if (this.#closed.signal.aborted) return;
    const messages = this.#waiting.get(key) ?? [];
    this.#waiting.delete(key);
    this.#waitingMessages -= messages.length;
    for (const waiting of messages) {
      if (waiting.type === "unsubscribe") this.#unsubscribe(key);
      else if (!exists || this.#context.source.isDeleted(key)) this.#notFound(waiting);
      else if (this.#mayAdd(waiting, key)) this.#subscribe(waiting, key);
    }
    this.#endUnusedFollow(key);
    this.#readAgain();
  }

  /** Starts or restarts the subscription. */
  #subscribe(message: SubscribeMessage, key: string): void {
    this.#unsubscribe(key);
    const subscription = new ClientSubscription({
      key,
      account: { serverId: message.serverId, accountNumber: message.accountNumber },
      writer: this.#writer,
      afterSequence: message.afterSequence,
      catchUpTimeoutMs: this.#context.limits.catchUpTimeoutMs,
      onDeleted: () => {
        this.#subscriptions.delete(key);
        this.#endUnusedFollow(key);
      },
    });
    this.#subscriptions.set(key, subscription);
    this.#context.hub.add(subscription);
  }

  #unsubscribe(key: string): void {
    const subscription = this.#subscriptions.get(key);
    if (subscription === undefined) return;
    this.#subscriptions.delete(key);
    this.#context.hub.remove(subscription);
  }

  #endUnusedFollow(key: string): void {
    if (this.#subscriptions.has(key) || this.#waiting.has(key)) return;
    this.#follows.get(key)?.end();
    this.#follows.delete(key);
  }

  /** Sends the error and returns true if the key may not read the account's server. */
  #rejectAccess(account: { readonly serverId: string; readonly accountNumber: string }): boolean {
    try {
      authorize(this.#key, LIVE_METRICS_SCOPE, this.#context.directory, account.serverId);
      return false;
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      const { serverId, accountNumber } = account;
      this.#error({ type: "error", code: "SERVER_ACCESS_DENIED", error: error.message, serverId, accountNumber });
      return true;
    }
  }

  #notFound({ serverId, accountNumber }: SubscribeMessage): void {
    const error = ERRORS.ACCOUNT_NOT_FOUND.text;
    this.#error({ type: "error", code: "ACCOUNT_NOT_FOUND", error, serverId, accountNumber });
  }

  #error(frame: LiveErrorFrame): void {
    this.#writer.push(errorFrame(frame));
  }

  #mayStay(key: KeyEntry, nowMs: number): boolean {
    return isInForce(key, nowMs) && key.scopes.includes(LIVE_METRICS_SCOPE);
  }
}

function toBuffer(data: Buffer | ArrayBuffer | Buffer[]): Buffer {
  if (Array.isArray(data)) return Buffer.concat(data);
  return Buffer.isBuffer(data) ? data : Buffer.from(data);
}
