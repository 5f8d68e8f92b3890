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
import { type Clock, delay, monotonicClock } from "@kapi/kernel";
import type { Logger } from "@kapi/runtime";
import type { WebSocket } from "ws";

import { pongFrame, textFrame } from "../../domain/websocket-frame.ts";
import type { AccountExistence } from "../../domain/ports.ts";
import type { SampleLog } from "../../operations/sample-log.ts";
import { errorFrame, messageFromWire, PONG } from "./client-messages.ts";
import type { FanOut, Subscription } from "./fan-out.ts";
import { countClose } from "./live-measures.ts";
import type { Outlet } from "./outlet.ts";
import { ReadingRate } from "./reading-rate.ts";

/** Unanswered pings after which the other side is taken for gone. */
const MAX_UNANSWERED_PINGS = 3;
/** How a connection that ended without a close frame is called (RFC 6455, 7.1.5). */
const GIVEN_UP = 1006;
/** How long to wait before the account service is asked again whether an account exists. */
const ASK_AGAIN_MS = 1_000;

/** What all sockets share. */
export interface LiveContext {
  readonly log: SampleLog;
  readonly fanOut: FanOut;
  readonly directory: Directory;
  readonly existence: AccountExistence;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly limits: {
    readonly maxSubscriptions: number;
    readonly maxMessagesPerSecond: number;
    readonly stuckTimeoutMs: number;
  };
}

/**
 * One live connection, from `connected` to its end: reads the client's messages and keeps its
 * subscriptions. Messages of one account are answered in their order; those of others do not wait
 * for an account that must be asked for.
 */
export class LiveSocket {
  readonly keyId: string;
  readonly organizationId: string;
  readonly #context: LiveContext;
  readonly #ws: WebSocket;
  readonly #outlet: Outlet;
  readonly #rate: ReadingRate;
  readonly #subscriptions = new Map<string, Subscription>();
  /** Messages that wait for the answer whether their account exists, by account. */
  readonly #waiting = new Map<string, ClientMessage[]>();
  #waitingMessages = 0;
  readonly #closed = new AbortController();
  #key: KeyEntry;
  #resume: NodeJS.Timeout | null = null;
  #unansweredPings = 0;

  constructor(options: { context: LiveContext; ws: WebSocket; outlet: Outlet; key: KeyEntry; sessionId: string }) {
    this.#context = options.context;
    this.#ws = options.ws;
    this.#outlet = options.outlet;
    this.#key = options.key;
    this.keyId = options.key.keyId;
    this.organizationId = options.key.organizationId;
    this.#rate = new ReadingRate(this.#context.limits.maxMessagesPerSecond, monotonicClock);
    const connected: ConnectedFrame = { type: "connected", sessionId: options.sessionId };
    this.#outlet.push(textFrame(JSON.stringify(connected)));
    this.#ws.on("message", (data, isBinary) => this.#receive(data, isBinary));
    this.#ws.on("ping", (payload) => this.#receivePing(payload));
    this.#ws.on("pong", () => {
      this.#unansweredPings = 0;
    });
    this.#ws.on("close", () => this.#end());
  }

  get subscriptions(): number {
    return this.#subscriptions.size;
  }

  /** Bytes that wait in this process for this client's network. */
  get bufferedBytes(): number {
    return this.#outlet.bufferedBytes;
  }

  /** Whether it is sent nothing until its network has drained. */
  get isStalled(): boolean {
    return this.#outlet.stalledSinceMs !== null;
  }

  /** The network has taken everything: goes on at each subscription's own place. */
  drained(): void {
    // Who was served goes to the end of the line: a slow network may never take what there is of
    // all. A round is of those that were there at its beginning.
    const round = Array.from(this.#subscriptions.values());
    for (const subscription of round) {
      this.#subscriptions.delete(subscription.key);
      this.#subscriptions.set(subscription.key, subscription);
      this.#context.fanOut.advance(subscription);
      if (this.#outlet.stalledSinceMs !== null) return;
    }
    this.#readAgain();
  }

  /** Looks after the connection; to be called every second. */
  check(nowMs: number): void {
    if (this.#closed.signal.aborted) return;
    const stalledSinceMs = this.#outlet.stalledSinceMs;
    if (!this.#mayStay(this.#key, nowMs)) this.close(LIVE_CLOSE_CODES.keyRevoked);
    else if (stalledSinceMs !== null && nowMs - stalledSinceMs >= this.#context.limits.stuckTimeoutMs) {
      this.close(LIVE_CLOSE_CODES.slowConsumer);
    }
  }

  /**
   * Pings the client, and gives one up that has answered none of the last ones although it was
   * read.
   */
  ping(): void {
    if (this.#closed.signal.aborted) return;
    if (this.#unansweredPings >= MAX_UNANSWERED_PINGS) return this.#giveUp();
    if (!this.#ws.isPaused && this.#outlet.stalledSinceMs === null) this.#unansweredPings += 1;
    this.#ws.ping();
  }

  /** The key's entry has changed. */
  keyChanged(key: KeyEntry): void {
    this.#key = key;
    if (!this.#mayStay(key, this.#context.clock.nowMs())) this.close(LIVE_CLOSE_CODES.keyRevoked);
    else this.accessChanged();
  }

  /** Ends the subscriptions that the key no longer reaches. */
  accessChanged(): void {
    for (const subscription of this.#subscriptions.values()) {
      if (!this.#refuseAccess(subscription.account)) continue;
      this.#subscriptions.delete(subscription.key);
      this.#context.fanOut.remove(subscription);
    }
  }

  /** Sends what was pushed and closes. */
  close(code: number): void {
    // Whatever else comes until the connection has ended, it is closed once.
    if (!this.#closed.signal.aborted) countClose(code);
    this.#outlet.flush();
    this.#end();
    if (this.#ws.isPaused) this.#ws.resume();
    this.#ws.close(code);
  }

  terminate(): void {
    this.#ws.terminate();
  }

  #giveUp(): void {
    countClose(GIVEN_UP);
    this.terminate();
  }

  #end(): void {
    this.#closed.abort();
    if (this.#resume !== null) clearTimeout(this.#resume);
    this.#resume = null;
    for (const subscription of this.#subscriptions.values()) this.#context.fanOut.remove(subscription);
    this.#subscriptions.clear();
    this.#waiting.clear();
    this.#waitingMessages = 0;
  }

  #receive(data: Buffer | ArrayBuffer | Buffer[], isBinary: boolean): void {
    if (this.#closed.signal.aborted) return;
    this.#unansweredPings = 0;
    const read = messageFromWire(toBuffer(data), isBinary);
    if (read.kind === "ping") this.#outlet.push(PONG);
    else if (read.kind === "invalid") this.#error(read.frame);
    else this.#handle(read.message);
    this.#paceReading(this.#rate.take());
  }

  /**
   * A ping frame counts as a message: `ws` itself would answer any number of them, or end the
   * connection.
   */
  #receivePing(payload: Buffer): void {
    if (this.#closed.signal.aborted) return;
    this.#unansweredPings = 0;
    this.#outlet.push(pongFrame(payload));
    this.#paceReading(this.#rate.take());
  }

  /**
   * A client that sends too fast, does not read its answers, or waits for many of them, is read
   * more slowly.
   */
  #paceReading(pauseMs: number): void {
    const full = !this.#outlet.hasRoom(this.#context.clock.nowMs());
    if (pauseMs > 0) {
      if (this.#resume !== null) clearTimeout(this.#resume);
      this.#resume = setTimeout(() => {
        this.#resume = null;
        this.#readAgain();
      }, pauseMs);
    }
    if (pauseMs > 0 || full || this.#waitingMessages >= this.#context.limits.maxSubscriptions) this.#ws.pause();
  }

  #readAgain(): void {
    const mayRead = this.#resume === null && this.#outlet.stalledSinceMs === null;
    if (mayRead && this.#waitingMessages < this.#context.limits.maxSubscriptions) this.#ws.resume();
  }

  #handle(message: ClientMessage): void {
    const key = accountKey(message.serverId, message.accountNumber);
    if (this.#waiting.has(key)) this.#wait(message, key);
    else if (message.type === "unsubscribe") this.#unsubscribe(key);
    else if (this.#mayAdd(message, key)) this.#subscribeIfExists(message, key);
  }

  #mayAdd(message: SubscribeMessage, key: string): boolean {
    if (this.#refuseAccess(message)) return false;
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
    const { log } = this.#context;
    if (log.isGone(key)) this.#notFound(message);
    else if (this.#subscriptions.has(key) || log.find(key) !== undefined) this.#subscribe(message, key);
    else {
      this.#wait(message, key);
      void this.#answerWhenKnown(message, key);
    }
  }

  #wait(message: ClientMessage, key: string): void {
    const waiting = this.#waiting.get(key);
    if (waiting === undefined) this.#waiting.set(key, [message]);
    else waiting.push(message);
    this.#waitingMessages += 1;
  }

  /** While the account service cannot be asked the client waits; nothing untrue is said. */
  async #answerWhenKnown(message: SubscribeMessage, key: string): Promise<void> {
    const { serverId, accountNumber } = message;
    let exists: boolean | undefined;
    while (exists === undefined && !this.#closed.signal.aborted) {
      try {
        [exists] = await this.#context.existence.exist([{ serverId, accountNumber }]);
      } catch (error) {
        this.#context.logger.warn({ err: error }, "an account could not be asked for; asking again");
        await delay(ASK_AGAIN_MS, this.#closed.signal);
      }
    }
    if (this.#closed.signal.aborted) return;
    const messages = this.#waiting.get(key) ?? [];
    this.#waiting.delete(key);
    this.#waitingMessages -= messages.length;
    for (const waiting of messages) {
      if (waiting.type === "unsubscribe") this.#unsubscribe(key);
      else if (exists !== true || this.#context.log.isGone(key)) this.#notFound(waiting);
      else if (this.#mayAdd(waiting, key)) this.#subscribe(waiting, key);
    }
    this.#readAgain();
  }

  /** Begins the subscription, or begins it again. */
  #subscribe(message: SubscribeMessage, key: string): void {
    this.#unsubscribe(key);
    const subscription: Subscription = {
      key,
      account: { serverId: message.serverId, accountNumber: message.accountNumber },
      outlet: this.#outlet,
      opening: { afterSequence: message.afterSequence },
      next: 0,
      onDeleted: () => this.#subscriptions.delete(key),
    };
    this.#subscriptions.set(key, subscription);
    this.#context.fanOut.add(subscription);
  }

  #unsubscribe(key: string): void {
    const subscription = this.#subscriptions.get(key);
    if (subscription === undefined) return;
    this.#subscriptions.delete(key);
    this.#context.fanOut.remove(subscription);
  }

  #refuseAccess(account: { readonly serverId: string; readonly accountNumber: string }): boolean {
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
    this.#outlet.push(errorFrame(frame));
  }

  #mayStay(key: KeyEntry, nowMs: number): boolean {
    return isInForce(key, nowMs) && key.scopes.includes(LIVE_METRICS_SCOPE);
  }
}

function toBuffer(data: Buffer | ArrayBuffer | Buffer[]): Buffer {
  if (Array.isArray(data)) return Buffer.concat(data);
  return Buffer.isBuffer(data) ? data : Buffer.from(data);
}
