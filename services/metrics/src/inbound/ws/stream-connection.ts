import { type FollowRequest, accountKey } from "@kapi/contracts";

import { decodeStreamMessage, encodeEnd, encodeOpened, encodeSamplesHead } from "../../domain/codec/window-message.ts";
import type { Cursor, KeptRange, Replay } from "../../domain/cursor.ts";
import type { Follow, SampleSource } from "../../domain/sample-source.ts";
import { binaryFrameStart } from "../../domain/websocket-frame.ts";
import type { SocketWriter } from "./socket-writer.ts";
import type { Subscription, SubscriptionHub } from "./subscription-hub.ts";

/** The dependencies of the connection of a stream process. */
export interface StreamConnectionOptions {
  readonly source: SampleSource;
  readonly hub: SubscriptionHub;
  readonly writer: SocketWriter;
  /**
   * Returns a position of `metrics.samples`. This process has applied every sample of the account
   * before this position.
   */
  readonly positionOf: (key: string) => number;
}

/**
 * The connection of one stream process: the accounts that it follows, by channel. A channel is the
 * number that the stream process gave an account on this connection.
 */
export class StreamConnection {
  readonly #options: StreamConnectionOptions;
  readonly #follows = new Map<number, Follow>();
  readonly #subscriptions = new Map<number, Subscription>();
  /** Requests that wait, because the stream process has read further than this process. */
  readonly #ahead = new Map<number, FollowRequest>();

  constructor(options: StreamConnectionOptions) {
    this.#options = options;
  }

  /** Number of followed accounts. */
  get followed(): number {
    return this.#follows.size;
  }

  /**
   * Handles a message of the stream process.
   * @throws if the text is not such a message.
   */
  receive(text: string): void {
    const message = decodeStreamMessage(text);
    if (message.type === "unfollow") for (const channel of message.channels) this.#unfollow(channel);
    else for (const request of message.accounts) this.#followOrWait(request);
  }

  /** Starts the requests whose positions this process has reached by now. */
  openReached(): void {
    for (const [channel, request] of this.#ahead) {
      if (!this.#isReached(request)) continue;
      this.#ahead.delete(channel);
      this.#follow(request);
    }
  }

  /** Continues each account at its cursor: the buffer has drained. */
  drained(): void {
    this.#options.hub.advanceAll(this.#subscriptions);
  }

  /** Whether the connection has been stalled for `timeoutMs`. */
  isStuck(nowMs: number, timeoutMs: number): boolean {
    const { stalledSinceMs } = this.#options.writer;
    return stalledSinceMs !== null && nowMs - stalledSinceMs >= timeoutMs;
  }

  /** Stops following every account. */
  end(): void {
    for (const channel of this.#follows.keys()) this.#unfollow(channel);
    this.#ahead.clear();
  }

  #isReached({ serverId, accountNumber, position }: FollowRequest): boolean {
    return this.#options.positionOf(accountKey(serverId, accountNumber)) >= position;
  }

  #followOrWait(request: FollowRequest): void {
    if (this.#isReached(request)) this.#follow(request);
    else this.#ahead.set(request.channel, request);
  }

  #follow(request: FollowRequest): void {
    const { channel, serverId, accountNumber } = request;
    const follow = this.#options.source.follow(accountKey(serverId, accountNumber), { serverId, accountNumber });
    this.#follows.set(channel, follow);
    if (typeof follow.exists === "boolean") this.#answer(request, follow.exists);
    else void follow.exists.then((exists) => this.#answer(request, exists));
  }

  #answer({ channel, serverId, accountNumber, afterSequence }: FollowRequest, exists: boolean): void {
    const { hub, writer, source } = this.#options;
    if (!this.#follows.has(channel)) return;
    const key = accountKey(serverId, accountNumber);
    if (!exists || source.isDeleted(key)) {
      this.#end(channel);
      pushMessage(writer, encodeEnd("unknown", channel));
      return;
    }
    const subscription = new FollowedAccount({
      key,
      channel,
      afterSequence,
      writer,
      onDeleted: () => this.#end(channel),
    });
    this.#subscriptions.set(channel, subscription);
    hub.add(subscription);
  }

  #unfollow(channel: number): void {
    this.#ahead.delete(channel);
    const subscription = this.#subscriptions.get(channel);
    if (subscription !== undefined) this.#options.hub.remove(subscription);
    this.#end(channel);
  }

  #end(channel: number): void {
    this.#subscriptions.delete(channel);
    this.#follows.get(channel)?.end();
    this.#follows.delete(channel);
  }
}

/** The subscription of a stream process to one account. It sends samples as records. */
class FollowedAccount implements Subscription {
  readonly key: string;
  readonly writer: SocketWriter;
  next: number | null = null;
  readonly #channel: number;
  readonly #afterSequence: number;
  readonly #onDeleted: () => void;

  constructor(options: {
    readonly key: string;
    readonly channel: number;
    readonly afterSequence: number;
    readonly writer: SocketWriter;
    readonly onDeleted: () => void;
  }) {
    this.key = options.key;
    this.writer = options.writer;
    this.#channel = options.channel;
    this.#afterSequence = options.afterSequence;
    this.#onDeleted = options.onDeleted;
  }

  /**
   * Starts after the last sequence that the stream process has. Starts at the first kept sequence
   * if samples in between are no longer kept, or if the stream process has a later sequence than
   * this process.
   */
  open(kept: KeptRange): Cursor {
    const follows = this.#afterSequence + 1;
    const next = follows < kept.first || follows > kept.last + 1 ? kept.first : follows;
    const { first, last } = kept;
    pushMessage(this.writer, encodeOpened(this.#channel, first, last));
    return { next, replay: null };
  }

  /** Sends nothing: the sequence of the next samples shows the gap. */
  sendReplay(_replay: Replay): void {}

  sendSamples(records: Buffer, from: number): void {
    this.writer.push(binaryFrameStart(encodeSamplesHead(this.#channel, from), records.length));
    this.writer.push(records);
  }

  sendDeleted(): void {
    pushMessage(this.writer, encodeEnd("deleted", this.#channel));
    this.#onDeleted();
  }
}

function pushMessage(writer: SocketWriter, message: Buffer): void {
  writer.push(binaryFrameStart(message, 0));
}
