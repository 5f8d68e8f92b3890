/**
 * Follows one account. A follower checks that the samples have no gap, and queues messages for the
 * handler. The handler gets one event at a time; then the follower moves the place. States:
 *
 * - listening: messages are accepted and queued;
 * - awaiting: a subscription was sent. If the subscription names a sequence, samples before its
 *   replay notice are ignored, because they belong to an earlier subscription. Without a
 *   sequence, the first sample is accepted;
 * - detached: no subscription. The place is not loaded yet, there is no connection, or the handler
 *   is far behind, so that the queue became full or was shortened;
 * - ended: deleted, rejected or no longer followed.
 */
import type { Position, TradingAccount } from "../generated/api.ts";
import { type Account, type LiveEvent, type LiveHandler, sampleFromWire, type ServerMessage } from "./events.ts";
import { type Place, placeAfterSample, placeAfterTruncation, type Truncation } from "./place.ts";

/**
 * Number of queued messages at which an account is unsubscribed. It is subscribed again when its
 * queue is empty.
 */
export const MAX_QUEUED_PER_ACCOUNT = 1_000;
const FIRST_RETRY_MS = 100;
const LONGEST_RETRY_MS = 10_000;

type WireSample = Extract<ServerMessage, { type: "account.metrics" }>;

/** A message that waits for the handler. */
type Queued =
  | { readonly type: "sample"; readonly wire: WireSample }
  | { readonly type: "truncated"; readonly missed: Truncation }
  | { readonly type: "deleted" }
  | { readonly type: "rejected"; readonly code: string; readonly error: string };

/** The state of an account, read over the API. */
export interface AccountState {
  readonly account: TradingAccount;
  readonly openPositions: readonly Position[];
}

/** What a follower gets from the live stream that it belongs to. */
interface FollowerDependencies {
  /** Reads the place that the program has stored; null if there is none. */
  readonly load: (account: Account) => Promise<Place | null>;
  /** Reads the account over the API; null if it does not exist. */
  readonly readState: (account: Account) => Promise<AccountState | null>;
  /** Reports an error after which the follower tries again. */
  readonly onError: (error: Error, account: Account) => void;
  /** Sends a message on the follower's connection; false if the connection is not open. */
  readonly send: (follower: Follower, message: object) => boolean;
  /** The number of queued messages changed by `change`. */
  readonly onQueued: (change: number) => void;
  /** The follower has ended for good. */
  readonly onEnded: (follower: Follower) => void;
  /** The queue of a detached follower is empty: attach the follower if there is a connection. */
  readonly onCaughtUp: (follower: Follower) => void;
  /** Resolves after `ms` milliseconds, or when the live stream is closed. */
  readonly delay: (ms: number) => Promise<void>;
}

/** One followed account, over all its connections; see the states above. */
export class Follower {
  readonly account: Account;
  readonly #handler: LiveHandler;
  readonly #dependencies: FollowerDependencies;
  readonly #queue: Queued[] = [];
  #state: "detached" | "awaiting" | "listening" | "ended" = "detached";
  #place: Place | null = null;
  /**
   * Sequence of the last queued message. Before the first message: the sequence of the stored
   * place, or null.
   */
  #received: number | null = null;
  /** Resolves when the stored place is loaded; null before the first connection. */
  #loaded: Promise<void> | null = null;
  #isHandling = false;
  #running: Promise<void> = Promise.resolve();

  constructor(account: Account, handler: LiveHandler, dependencies: FollowerDependencies) {
    this.account = account;
    this.#handler = handler;
    this.#dependencies = dependencies;
  }

  /** The place of the last handled event; before the first event, the stored place or null. */
  get place(): Place | null {
    return this.#place;
  }

  get isEnded(): boolean {
    return this.#state === "ended";
  }

  /** Resolves when no handler runs. */
  async settled(): Promise<void> {
    await this.#running;
  }

  /**
   * Is called when the connection is ready, and when the handler has caught up. The first call
   * loads the stored place. If the follower is detached and its queue is not full, it subscribes to
   * the samples that follow the last queued message.
   */
  async attach(): Promise<void> {
    // A later connection waits for the same load: a second load could set the place back.
    this.#loaded ??= this.#loadPlace();
    await this.#loaded;
    if (this.#state === "detached" && this.#queue.length < MAX_QUEUED_PER_ACCOUNT) this.#subscribe();
  }

  /** The connection is lost. Queued messages are still handled. */
  detach(): void {
    if (this.#state !== "ended") this.#state = "detached";
  }

  /**
   * Keeps the first `count` queued messages: at least 1, because the first is being handled. If the
   * queue has more messages, drops the rest and unsubscribes. When the handler has caught up, the
   * follower subscribes to the dropped samples again. Returns how many messages were dropped.
   */
  shed(count: number): number {
    const dropped = this.#queue.splice(count).length;
    if (dropped === 0) return 0;
    const last = this.#queue.at(-1);
    this.#received = (last && sequenceOf(last)) ?? this.#received;
    this.#unsubscribe();
    this.#dependencies.onQueued(-dropped);
    return dropped;
  }

  /** Drops queued messages and ends the follower for good. */
  end(): void {
    if (this.#state === "ended") return;
    this.#state = "ended";
    this.#dependencies.onQueued(-this.#queue.length);
    this.#queue.length = 0;
    this.#dependencies.onEnded(this);
  }

  /** Accepts a message of the account. */
  receive(message: ServerMessage): void {
    if (this.#state === "detached" || this.#state === "ended") return;
    if (message.type === "account.metrics.replay") {
      this.#state = "listening";
      // The sequence of the next sample is `lastAvailableSequence - replayCount + 1`.
      const before = message.lastAvailableSequence - message.replayCount;
      if (message.replayTruncated) this.#enqueueTruncation(before);
    } else if (message.type === "account.metrics") this.#receiveSample(message);
    else if (message.type === "account.deleted") this.#enqueue({ type: "deleted" });
    else if (message.type === "error") this.#enqueue({ type: "rejected", code: message.code, error: message.error });
  }

  async #loadPlace(): Promise<void> {
    this.#place = await this.#load();
    this.#received = this.#place?.sequence ?? null;
  }

  #receiveSample(wire: WireSample): void {
    if (this.#state === "awaiting") {
      if (this.#received !== null) return;
      this.#state = "listening";
    }
    const expected = this.#received === null ? wire.sequence : this.#received + 1;
    if (wire.sequence < expected) return;
    if (wire.sequence > expected) {
      const text = `sample ${wire.sequence} came in place of ${expected}: subscribing again`;
      this.#dependencies.onError(new Error(text), this.account);
      this.#subscribe();
      return;
    }
    this.#received = wire.sequence;
    this.#enqueue({ type: "sample", wire });
  }

  #enqueueTruncation(before: number): void {
    const missed = { from: (this.#received ?? before) + 1, to: before };
    this.#received = before;
    this.#enqueue({ type: "truncated", missed });
  }

  #subscribe(): void {
    // Without a sequence `afterSequence` is omitted: JSON drops undefined fields.
    const afterSequence = this.#received ?? undefined;
    const isSent = this.#dependencies.send(this, { type: "subscribe", ...this.account, afterSequence });
    this.#state = isSent ? "awaiting" : "detached";
  }

  #unsubscribe(): void {
    if (this.#state === "detached" || this.#state === "ended") return;
    this.#state = "detached";
    this.#dependencies.send(this, { type: "unsubscribe", ...this.account });
  }

  #enqueue(queued: Queued): void {
    this.#queue.push(queued);
    this.#dependencies.onQueued(1);
    if (this.#queue.length >= MAX_QUEUED_PER_ACCOUNT) this.#unsubscribe();
    if (!this.#isHandling) this.#running = this.#handleAll();
  }

  /**
   * Handles the queue until it is empty. `#isHandling` becomes false in the turn of the event loop
   * in which the queue was found empty, so no message stays behind.
   */
  async #handleAll(): Promise<void> {
    this.#isHandling = true;
    for (let queued = this.#queue[0]; queued !== undefined; queued = this.#queue[0]) {
      const handled = await this.#handle(queued);
      if (this.isEnded) break;
      this.#queue.shift();
      this.#dependencies.onQueued(-1);
      if (handled === "deleted" || handled === "rejected") this.end();
      else if (this.#queue.length === 0 && this.#state === "detached") this.#dependencies.onCaughtUp(this);
    }
    this.#isHandling = false;
  }

  /**
   * Repeats until the handler has returned, the stored place shows that the message was handled, or
   * the follower has ended. Returns the type of the event if the handler has returned, else null.
   */
  async #handle(queued: Queued): Promise<LiveEvent["type"] | null> {
    for (let failures = 0; !this.isEnded; failures += 1) {
      try {
        const event = await this.#eventOf(queued);
        if (this.isEnded) return null;
        await this.#handler(event);
        this.#place = event.place;
        return event.type;
      } catch (error) {
        this.#report(error);
        await this.#dependencies.delay(retryMs(failures));
        if (await this.#isStored(queued)) return null;
      }
    }
    return null;
  }

  /** Whether the handler stored the place of the message, although it threw afterwards. */
  async #isStored(queued: Queued): Promise<boolean> {
    const stored = await this.#load();
    const sequence = sequenceOf(queued);
    if (stored === null || sequence === null || stored.sequence !== sequence) return false;
    if (queued.type === "truncated" && stored.truncationCount === (this.#place?.truncationCount ?? 0)) return false;
    this.#place = stored;
    return true;
  }

  async #eventOf(queued: Queued): Promise<LiveEvent> {
    if (queued.type === "sample") {
      const sample = sampleFromWire(queued.wire);
      return { type: "sample", sample, place: placeAfterSample(this.#place, sample.sequence) };
    }
    if (queued.type !== "truncated") return { ...queued, place: this.#place };
    const state = await this.#dependencies.readState(this.account);
    if (state === null) return { type: "deleted", place: this.#place };
    return {
      type: "reconciled",
      ...state,
      missed: queued.missed,
      place: placeAfterTruncation(this.#place, queued.missed),
    };
  }

  /**
   * Repeats until the place is loaded. Returns null if no place is stored, or if a load fails after
   * the follower has ended.
   */
  async #load(): Promise<Place | null> {
    for (let failures = 0; ; failures += 1) {
      try {
        return await this.#dependencies.load(this.account);
      } catch (error) {
        this.#report(error);
        if (this.isEnded) return null;
        await this.#dependencies.delay(retryMs(failures));
      }
    }
  }

  #report(error: unknown): void {
    this.#dependencies.onError(error instanceof Error ? error : new Error(String(error)), this.account);
  }
}

/** The sequence of the place after a message; null if the message does not move the place. */
function sequenceOf(queued: Queued): number | null {
  if (queued.type === "sample") return queued.wire.sequence;
  return queued.type === "truncated" ? queued.missed.to : null;
}

/** Delay before the next attempt, in milliseconds: doubles up to a limit, with a random part. */
function retryMs(failures: number): number {
  const longestMs = Math.min(LONGEST_RETRY_MS, FIRST_RETRY_MS * 2 ** failures);
  return longestMs / 2 + (Math.random() * longestMs) / 2;
}
