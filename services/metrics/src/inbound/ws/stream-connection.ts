import { type FollowRequest, accountKey } from "@kapi/contracts";

import { decodeStreamMessage, encodeEnd, encodeOpened, encodeSamplesHead } from "../../domain/codec/window-message.ts";
import type { Cursor, KeptRange, Replay } from "../../domain/cursor.ts";
import type { Follow, SampleSource } from "../../domain/sample-source.ts";
import { binaryFrameStart } from "../../domain/websocket-frame.ts";
import type { SocketWriter } from "./socket-writer.ts";
import type { Subscription, SubscriptionHub } from "./subscription-hub.ts";

export interface StreamConnectionOptions {
  readonly source: SampleSource;
  readonly hub: SubscriptionHub;
  readonly writer: SocketWriter;
  readonly positionOf: (key: string) => number;
}

/** The accounts that one stream process follows, by the numbers of its channels. */
export class StreamConnection {
  readonly #options: StreamConnectionOptions;
  readonly #follows = new Map<number, Follow>();
  readonly #subscriptions = new Map<number, Subscription>();
  /** Requests of a stream process that has read further than this process. */
  readonly #ahead = new Map<number, FollowRequest>();

  constructor(options: StreamConnectionOptions) {
    this.#options = options;
  }

  /** Number of accounts. */
  get followed(): number {
    return this.#follows.size;
  }

  /** @throws if the text is not a message of a stream process. */
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

  /** The buffer has drained: continues each account at its cursor. */
  drained(): void {
    this.#options.hub.advanceAll(this.#subscriptions);
  }

  /** Whether nothing could be written for `timeoutMs`. */
  isStuck(nowMs: number, timeoutMs: number): boolean {
    const { stalledSinceMs } = this.#options.writer;
    return stalledSinceMs !== null && nowMs - stalledSinceMs >= timeoutMs;
  }

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

/** The subscription of a stream process to one account. The samples are records. */
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

  /** After the last sequence that the stream has; from the first kept one if that is not kept. */
  open(kept: KeptRange): Cursor {
    const follows = this.#afterSequence + 1;
    const next = follows < kept.first || follows > kept.last + 1 ? kept.first : follows;
    const { first, last } = kept;
    pushMessage(this.writer, encodeOpened(this.#channel, first, last));
    return { next, replay: null };
  }

  /** The window begins later than the cursor: the sequence of the next samples says so. */
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
