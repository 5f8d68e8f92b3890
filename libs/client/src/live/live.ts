/**
 * Follows accounts on any number of connections, and continues after disconnects and restarts of
 * the program. Each follower belongs to a slot. A slot keeps one connection open, and attaches its
 * followers when the connection is ready.
 */
import { delay } from "../delay.ts";
import type { KapiError } from "../errors.ts";
import { Connection } from "./connection.ts";
import { type Account, keyOf, type LiveHandler, type ServerMessage } from "./events.ts";
import { type AccountState, Follower } from "./follower.ts";
import { type Place, type Proof, proofOf } from "./place.ts";
import type { SocketFactory } from "./socket.ts";

/** By default, kapi accepts 2,000 subscriptions on a connection. */
const DEFAULT_ACCOUNTS_PER_CONNECTION = 1_000;
/**
 * If the queues of all accounts together have this number of messages, all connections are paused
 * until half of this number remains, and at most for {@link LONGEST_PAUSE_MS}.
 */
const MAX_QUEUED = 50_000;
/**
 * If handlers hang or always throw, the queues never become short. After a pause of this time, in
 * milliseconds, each account keeps an equal share of half of {@link MAX_QUEUED}.
 */
const LONGEST_PAUSE_MS = 2_000;
const FIRST_RECONNECT_MS = 500;
const LONGEST_RECONNECT_MS = 30_000;
/** How long `close` waits for running handlers, in milliseconds. */
const CLOSE_TIMEOUT_MS = 10_000;

/**
 * Options of `kapi.live(…)`. The stream continues from the places that your program has stored.
 */
export interface LiveOptions {
  /** Reads the places that your program has stored. */
  readonly places: {
    /** Returns the stored place of an account, or null if none is stored. */
    load(account: Account): Promise<Place | null>;
  };
  /**
   * Is called for ended connections, errors of handlers and of `load`, failed reads of an account,
   * accounts with too many waiting events, samples out of order, and errors of kapi that name no
   * followed account. The live stream continues by itself, except after the error with which
   * {@link Live.closed} rejects. Without this function, these errors are not reported.
   */
  readonly onError?: ((error: Error, account: Account | null) => void) | undefined;
  /**
   * Maximum number of accounts on one connection. Default 1,000. kapi accepts 2,000, unless your
   * operator set another limit.
   */
  readonly accountsPerConnection?: number | undefined;
}

/** What the live stream needs from the API. */
export interface LiveDependencies {
  readonly url: string;
  readonly authorization: string;
  readonly socket: SocketFactory;
  readonly readState: (account: Account) => Promise<AccountState | null>;
}

/** A connection and the accounts that are followed on it. */
interface Slot {
  readonly followers: Set<Follower>;
  capacity: number;
  connection: Connection | null;
}

/** Settles {@link Live.closed}. */
interface Settlement {
  readonly resolve: () => void;
  readonly reject: (error: KapiError) => void;
}

/** The live stream: `kapi.live(…)`. */
export class Live {
  /**
   * Resolves after {@link Live.close}. Rejects with the error that ends the stream for good: the
   * key is unknown, was revoked or has expired, is used from outside its allowed networks, or lacks
   * the scope `metrics:read`.
   */
  readonly closed: Promise<void>;
  readonly #options: LiveOptions;
  readonly #dependencies: LiveDependencies;
  readonly #followers = new Map<string, { readonly follower: Follower; slot: Slot }>();
  readonly #slots = new Set<Slot>();
  /** For each account that is no longer followed: its last follower, which has the proof. */
  readonly #ended = new Map<string, Follower>();
  readonly #stop = new AbortController();
  readonly #settle: Settlement;
  #queued = 0;
  /** Ends a long pause of all connections; null if they are not paused. */
  #pause: NodeJS.Timeout | null = null;

  constructor(options: LiveOptions, dependencies: LiveDependencies) {
    this.#options = options;
    this.#dependencies = dependencies;
    let settle: Settlement = { resolve: () => undefined, reject: () => undefined };
    this.closed = new Promise<void>((resolve, reject) => (settle = { resolve, reject }));
    this.#settle = settle;
    // Prevents an unhandled rejection in a program that uses only `onError`.
    this.closed.catch(() => undefined);
  }

  /**
   * Follows an account from its stored place on. The handler gets one event at a time.
   * @throws Error if the account is already followed, or the stream is closed.
   */
  follow(account: Account, handler: LiveHandler): void {
    const key = keyOf(account);
    if (this.#stop.signal.aborted) throw new Error("the live stream is closed");
    if (this.#followers.has(key)) throw new Error(`account ${key} is already followed`);
    const follower = new Follower(account, handler, {
      load: (followed) => this.#options.places.load(followed),
      readState: this.#dependencies.readState,
      onError: (error, followed) => this.#options.onError?.(error, followed),
      send: (sender, message) => this.#send(sender, message),
      onQueued: (change) => this.#countQueued(change),
      onEnded: (ended) => this.#remove(ended),
      onCaughtUp: (caughtUp) => this.#attach(caughtUp),
      delay: (ms) => this.#delay(ms),
    });
    this.#assign(key, follower);
  }

  /** Stops following an account. Events that wait for its handler are dropped. */
  unfollow(account: Account): void {
    const known = this.#followers.get(keyOf(account));
    if (known === undefined) return;
    known.slot.connection?.send({ type: "unsubscribe", ...account });
    known.follower.end();
  }

  /**
   * Returns which samples of an account were handled, also after the account is unfollowed. The
   * proof includes the stored place. An event counts as soon as its handler has returned.
   * @throws Error if the account was never followed, or if no stored place is loaded and no handler
   * of the account has returned.
   */
  proof(account: Account): Proof & Account {
    const key = keyOf(account);
    const followed = this.#followers.get(key);
    const place = followed?.follower.place ?? this.#ended.get(key)?.place ?? null;
    if (place !== null) return { ...account, ...proofOf(place) };
    if (followed === undefined) throw new Error(`account ${key} was never followed, or none of its events was handled`);
    throw new Error(`the handler of account ${key} has not returned from a first event yet`);
  }

  /** Closes all connections, and waits up to 10 s for running handlers. */
  async close(): Promise<void> {
    const running = [...this.#followers.values()].map(({ follower }) => follower.settled());
    this.#end();
    this.#settle.resolve();
    const enough = new AbortController();
    const deadline = delay(CLOSE_TIMEOUT_MS, enough.signal).catch(() => undefined);
    await Promise.race([Promise.allSettled(running), deadline]);
    enough.abort();
  }

  #end(): void {
    this.#stop.abort();
    for (const { follower } of this.#followers.values()) follower.end();
    for (const { connection } of this.#slots) connection?.close();
  }

  #assign(key: string, follower: Follower): void {
    const free = [...this.#slots].find((slot) => slot.followers.size < slot.capacity);
    const slot = free ?? this.#openSlot();
    slot.followers.add(follower);
    this.#followers.set(key, { follower, slot });
    if (slot.connection?.isReady === true) this.#attach(follower);
  }

  #openSlot(): Slot {
    const capacity = this.#options.accountsPerConnection ?? DEFAULT_ACCOUNTS_PER_CONNECTION;
    const slot: Slot = { followers: new Set(), capacity, connection: null };
    this.#slots.add(slot);
    void this.#keepConnected(slot);
    return slot;
  }

  /** Connects again and again, until nothing is followed on the slot or the stream ends. */
  async #keepConnected(slot: Slot): Promise<void> {
    for (let failures = 0; !this.#stop.signal.aborted; failures += 1) {
      const connection = this.#connect(slot);
      slot.connection = connection;
      const { error, wasReady } = await connection.ended;
      slot.connection = null;
      for (const follower of slot.followers) follower.detach();
      if (this.#stop.signal.aborted) return;
      if (slot.followers.size === 0 && error.retryable) break;
      this.#options.onError?.(error, null);
      if (!error.retryable) {
        this.#end();
        this.#settle.reject(error);
        return;
      }
      if (wasReady) failures = 0;
      await this.#delay(reconnectMs(failures, error.retryAfterS));
      if (slot.followers.size === 0) break;
    }
    this.#slots.delete(slot);
  }

  #connect(slot: Slot): Connection {
    const { socket, url, authorization } = this.#dependencies;
    const connection: Connection = new Connection(socket, url, authorization, {
      onReady: () => {
        if (this.#pause !== null) connection.pause();
        for (const follower of slot.followers) this.#attach(follower);
      },
      onMessage: (message) => this.#receive(slot, message),
    });
    return connection;
  }

  /** Returns false if the connection is not ready. `onReady` attaches the follower later. */
  #send(follower: Follower, message: object): boolean {
    const connection = this.#followers.get(keyOf(follower.account))?.slot.connection;
    if (connection?.isReady !== true) return false;
    connection.send(message);
    return true;
  }

  #attach(follower: Follower): void {
    const connection = this.#followers.get(keyOf(follower.account))?.slot.connection;
    if (connection?.isReady === true) void follower.attach();
  }

  #receive(slot: Slot, message: ServerMessage): void {
    const { serverId, accountNumber } = message as Partial<Account>;
    const known =
      serverId === undefined || accountNumber === undefined
        ? undefined
        : this.#followers.get(keyOf({ serverId, accountNumber }));
    if (message.type === "error" && message.code === "TOO_MANY_SUBSCRIPTIONS" && known !== undefined) {
      slot.capacity = Math.min(slot.capacity, slot.followers.size - 1);
      slot.followers.delete(known.follower);
      known.follower.detach();
      this.#assign(keyOf(known.follower.account), known.follower);
    } else if (known !== undefined && slot.followers.has(known.follower)) known.follower.receive(message);
    else if (message.type === "error") this.#options.onError?.(new Error(`${message.code}: ${message.error}`), null);
  }

  #remove(follower: Follower): void {
    const key = keyOf(follower.account);
    const known = this.#followers.get(key);
    if (known?.follower !== follower) return;
    this.#ended.set(key, follower);
    this.#followers.delete(key);
    const { slot } = known;
    slot.followers.delete(follower);
    if (slot.followers.size > 0 || slot.connection === null) return;
    // The connection closes, so an account that is followed from now on needs another slot.
    this.#slots.delete(slot);
    slot.connection.close();
  }

  #countQueued(change: number): void {
    this.#queued += change;
    if (this.#pause !== null && this.#queued <= MAX_QUEUED / 2) this.#resume(this.#pause);
    if (this.#pause !== null || this.#queued < MAX_QUEUED) return;
    this.#pause = setTimeout(() => this.#shed(), LONGEST_PAUSE_MS);
    for (const { connection } of this.#slots) if (connection?.isReady === true) connection.pause();
  }

  /** Shortens the queues of accounts with more than their share, and ends the pause. */
  #shed(): void {
    const share = Math.max(1, Math.floor(MAX_QUEUED / 2 / this.#followers.size));
    for (const { follower } of this.#followers.values()) {
      const dropped = follower.shed(share);
      if (dropped === 0) continue;
      const text = `the handler is slow: ${share + dropped} events waited; the last ${dropped} are read again later`;
      this.#options.onError?.(new Error(text), follower.account);
    }
    // With very many accounts, even one message of each account is more than half of the maximum:
    // the pause is still on.
    if (this.#pause !== null) this.#resume(this.#pause);
  }

  #resume(pause: NodeJS.Timeout): void {
    clearTimeout(pause);
    this.#pause = null;
    for (const { connection } of this.#slots) if (connection?.isReady === true) connection.resume();
  }

  async #delay(ms: number): Promise<void> {
    await delay(ms, this.#stop.signal).catch(() => undefined);
  }
}

/** Delay before the next connection, in milliseconds: doubles up to a limit, with a random part. */
function reconnectMs(failures: number, retryAfterS: number | null): number {
  const longestMs = Math.min(LONGEST_RECONNECT_MS, FIRST_RECONNECT_MS * 2 ** failures);
  return Math.max((retryAfterS ?? 0) * 1_000, longestMs / 2 + (Math.random() * longestMs) / 2);
}
