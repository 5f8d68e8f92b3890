/**
 * The live stream in memory. It follows the rules of the real stream: sequences without a gap, a
 * window of retained samples, replay notices, subscriptions by account.
 */
import { randomUUID } from "node:crypto";

import { type Account, keyOf } from "../live/events.ts";
import type { LiveSocket, SocketFactory, SocketListener } from "../live/socket.ts";

const RETAINED_SAMPLES = 300;
const PING_MS = 20_000;
const ABNORMAL_CLOSURE = 1006;
const RESTART = 1012;
const NORMAL_CLOSURE = 1000;

/**
 * The values of a sample, as numbers. A missing value is copied from the account's previous sample,
 * and is 0 in the first sample. A missing `intervalMinimumEquity` is the equity of this sample.
 */
export interface SampleValues {
  readonly balance?: number;
  readonly equity?: number;
  readonly margin?: number;
  readonly freeMargin?: number;
  readonly marginLevel?: number;
  readonly openPositionCount?: number;
  readonly intervalMinimumEquity?: number;
}

interface Stream {
  readonly account: Account;
  values: Required<SampleValues>;
  sequence: number;
  /** The retained samples, oldest first. */
  readonly samples: { readonly sequence: number; readonly text: string }[];
}

interface Client {
  readonly listener: SocketListener;
  readonly subscriptions: Set<string>;
  isPaused: boolean;
  isClosed: boolean;
  readonly waiting: string[];
}

interface SubscribeMessage extends Account {
  readonly type: string;
  readonly afterSequence?: number;
}

/** A live stream that a test controls. */
export class FakeStream {
  /** The socket factory for `new Kapi({ socket })`. */
  readonly socket: SocketFactory;
  /** If true, no connection gets pings. Other messages still arrive. */
  isSilent = false;
  /** Number of retained samples for each account. */
  retainedSamples = RETAINED_SAMPLES;
  readonly #streams = new Map<string, Stream>();
  readonly #clients = new Set<Client>();
  readonly #now: () => Date;
  #rejections: { readonly status: number; readonly code: string }[] = [];

  constructor(now: () => Date = () => new Date()) {
    this.#now = now;
    this.socket = (_url, _headers, listener) => this.#connect(listener);
  }

  /** Number of open connections. */
  get connectionCount(): number {
    return this.#clients.size;
  }

  /** Sends a sample of an account to its subscribers, and returns the sequence. */
  publish(account: Account, changes: SampleValues = {}): number {
    const stream = this.#streamOf(account);
    const values = { ...stream.values, ...changes };
    stream.values = { ...values, intervalMinimumEquity: changes.intervalMinimumEquity ?? values.equity };
    stream.sequence += 1;
    const at = this.#now().toISOString();
    const text = JSON.stringify({
      type: "account.metrics",
      eventId: randomUUID(),
      ...account,
      sequence: stream.sequence,
      measuredAt: at,
      ...stream.values,
      intervalMinimumMeasuredAt: at,
    });
    stream.samples.push({ sequence: stream.sequence, text });
    stream.samples.splice(0, Math.max(0, stream.samples.length - this.retainedSamples));
    this.#sendToSubscribers(account, text);
    return stream.sequence;
  }

  /**
   * Sends `account.deleted` to the subscribers of an account, ends their subscriptions to it, and
   * forgets the account's samples and sequence. Does not delete the account from the fake.
   */
  deleteAccount(account: Account): void {
    this.#sendToSubscribers(account, JSON.stringify({ type: "account.deleted", ...account }));
    for (const client of this.#clients) client.subscriptions.delete(keyOf(account));
    this.#streams.delete(keyOf(account));
  }

  /** Closes all connections, as a restart of kapi does. */
  disconnect(code = RESTART): void {
    for (const client of this.#clients) this.#close(client, code);
  }

  /** Answers the next `count` handshakes with an error. */
  rejectNext(status: number, code: string, count = 1): void {
    this.#rejections.push(...Array.from({ length: count }, () => ({ status, code })));
  }

  /** Sends `text` unchanged to every connection: for tests of a broken stream. */
  inject(text: string): void {
    for (const client of this.#clients) this.#deliver(client, text);
  }

  #streamOf(account: Account): Stream {
    const key = keyOf(account);
    const known = this.#streams.get(key) ?? { account, values: NO_VALUES, sequence: 0, samples: [] };
    this.#streams.set(key, known);
    return known;
  }

  #connect(listener: SocketListener): LiveSocket {
    const client: Client = { listener, subscriptions: new Set(), isPaused: false, isClosed: false, waiting: [] };
    const rejection = this.#rejections.shift();
    const pings = setInterval(() => {
      if (!this.#clients.has(client)) clearInterval(pings);
      else if (!this.isSilent && !client.isPaused) listener.onPing();
    }, PING_MS);
    pings.unref();
    queueMicrotask(() => {
      if (client.isClosed) {
        listener.onClose(ABNORMAL_CLOSURE);
        return;
      }
      if (rejection === undefined) {
        this.#clients.add(client);
        this.#deliver(client, JSON.stringify({ type: "connected", sessionId: randomUUID() }));
        return;
      }
      const body = JSON.stringify({ error: rejection.code, code: rejection.code, requestId: randomUUID() });
      listener.onRejection({ status: rejection.status, headers: { "x-error-code": rejection.code }, body });
      listener.onClose(ABNORMAL_CLOSURE);
    });
    return {
      send: (text) => this.#receive(client, text),
      pause: () => (client.isPaused = true),
      resume: () => {
        client.isPaused = false;
        for (const text of client.waiting.splice(0)) this.#deliver(client, text);
      },
      close: () => this.#close(client, NORMAL_CLOSURE),
      terminate: () => this.#close(client, ABNORMAL_CLOSURE),
    };
  }

  #receive(client: Client, text: string): void {
    if (!this.#clients.has(client)) return;
    if (text === "ping") {
      this.#deliver(client, "pong");
      return;
    }
    const message = JSON.parse(text) as SubscribeMessage;
    const key = keyOf(message);
    if (message.type === "unsubscribe") client.subscriptions.delete(key);
    if (message.type === "subscribe") this.#subscribe(client, message);
  }

  #subscribe(client: Client, { serverId, accountNumber, afterSequence }: SubscribeMessage): void {
    const account = { serverId, accountNumber };
    const { sequence, samples } = this.#streamOf(account);
    client.subscriptions.add(keyOf(account));
    if (afterSequence === undefined) {
      const latest = samples.at(-1);
      if (latest !== undefined) this.#deliver(client, latest.text);
      return;
    }
    const first = samples[0]?.sequence ?? sequence + 1;
    const isBeyond = afterSequence > sequence;
    const replayed = samples.filter((sample) => sample.sequence > afterSequence);
    const notice = {
      type: "account.metrics.replay",
      ...account,
      firstAvailableSequence: first,
      lastAvailableSequence: sequence,
      replayTruncated: afterSequence + 1 < first || isBeyond,
      replayCount: replayed.length,
    };
    this.#deliver(client, JSON.stringify(notice));
    for (const { text } of replayed) this.#deliver(client, text);
  }

  #sendToSubscribers(account: Account, text: string): void {
    for (const client of this.#clients) if (client.subscriptions.has(keyOf(account))) this.#deliver(client, text);
  }

  #deliver(client: Client, text: string): void {
    if (client.isPaused) client.waiting.push(text);
    else
      queueMicrotask(() => {
        if (this.#clients.has(client)) client.listener.onMessage(text);
      });
  }

  #close(client: Client, code: number): void {
    client.isClosed = true;
    if (this.#clients.delete(client)) queueMicrotask(() => client.listener.onClose(code));
  }
}

const NO_VALUES: Required<SampleValues> = {
  balance: 0,
  equity: 0,
  margin: 0,
  freeMargin: 0,
  marginLevel: 0,
  openPositionCount: 0,
  intervalMinimumEquity: 0,
};
