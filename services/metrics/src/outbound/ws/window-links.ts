/** The connections of a stream process: one to each windows process. */
import {
  type FollowRequest,
  type WindowsHolding,
  MAX_ACCOUNTS_PER_MESSAGE,
  type StreamMessage,
  METRICS_ROUTES,
} from "@kapi/contracts";
import { backOffMs, type Clock, delay, monotonicClock } from "@kapi/kernel";
import { type Logger, observed, type Started } from "@kapi/runtime";
import { WebSocket } from "ws";

import type { WindowLink } from "../../domain/ports.ts";
import { decodeWindowMessage, MAX_ANSWER_BYTES, type WindowMessage } from "../../domain/codec/window-message.ts";

const CONNECT_TIMEOUT_MS = 5_000;
const PING_INTERVAL_MS = 2_000;
/** A connection is terminated if its windows process sends nothing, not even a pong, for longer. */
const SILENT_TIMEOUT_MS = 6_000;
const BACK_OFF = { firstMs: 100, maxMs: 2_000 };

/** The options of the connections. */
export interface WindowLinksOptions {
  /** The base URLs of the windows processes. */
  readonly urls: readonly string[];
  /** The headers that authenticate this service. */
  readonly credentials: Readonly<Record<string, string>>;
  /** Called when the windows process has sent which partitions it holds. */
  readonly connected: (link: WindowLink) => void;
  /** Called when a connection that was `connected` has ended. */
  readonly disconnected: (link: WindowLink) => void;
  /** Called with each message about an account. */
  readonly receive: (link: WindowLink, message: Exclude<WindowMessage, { kind: "holding" }>) => void;
  readonly logger: Logger;
}

/** Starts a connection to each windows process, and reconnects until `stop`. */
export function startWindowLinks(options: WindowLinksOptions): Started<null> {
  const stopped = new AbortController();
  const connections = new Set<Connection>();
  const running = options.urls.map((url) => keepConnected(url, options, connections, stopped.signal));
  const endCount = observed(
    "metrics.windows.connected",
    "Windows processes that this process is connected to",
    "{process}",
    () => [{ value: [...connections].filter(({ isReady }) => isReady).length }],
  );
  return {
    value: null,
    stop: async () => {
      endCount();
      stopped.abort();
      for (const connection of connections) connection.close();
      await Promise.all(running);
    },
  };
}

async function keepConnected(
  url: string,
  options: WindowLinksOptions,
  connections: Set<Connection>,
  stopped: AbortSignal,
): Promise<void> {
  let failures = 0;
  while (!stopped.aborted) {
    const connection = new Connection(url, options, monotonicClock);
    connections.add(connection);
    const reason = await connection.ended;
    connections.delete(connection);
    if (stopped.aborted) return;
    failures = connection.isReady ? 1 : failures + 1;
    options.logger.warn({ url, reason }, "not connected to a windows process; trying again");
    await delay(backOffMs(failures, Math.random, BACK_OFF), stopped);
  }
}

class Connection implements WindowLink {
  /** Resolves with the reason when the connection has ended. */
  readonly ended: Promise<string>;
  readonly #ws: WebSocket;
  readonly #options: WindowLinksOptions;
  readonly #clock: Clock;
  readonly #pings: NodeJS.Timeout;
  #holding: WindowsHolding | null = null;
  #heardAtMs: number;
  #follows: FollowRequest[] = [];
  #unfollows: number[] = [];
  #scheduled = false;

  constructor(url: string, options: WindowLinksOptions, clock: Clock) {
    this.#options = options;
    this.#clock = clock;
    this.#heardAtMs = clock.nowMs();
    const address = new URL(METRICS_ROUTES.followWindows.path, url.replace(/^http/, "ws"));
    this.#ws = new WebSocket(address, {
      headers: { ...options.credentials },
      perMessageDeflate: false,
      handshakeTimeout: CONNECT_TIMEOUT_MS,
      maxPayload: MAX_ANSWER_BYTES,
    });
    let reason = "the connection was closed";
    this.#ws.on("error", (error) => (reason = error.message));
    this.#ws.on("message", (data: Buffer) => this.#receive(data));
    this.#ws.on("pong", () => (this.#heardAtMs = clock.nowMs()));
    this.#pings = setInterval(() => this.#ping(), PING_INTERVAL_MS);
    this.ended = new Promise((resolve) => {
      this.#ws.on("close", () => {
        clearInterval(this.#pings);
        if (this.#holding !== null) options.disconnected(this);
        resolve(reason);
      });
    });
  }

  /** Whether the windows process has sent the partitions that it holds. */
  get isReady(): boolean {
    return this.#holding !== null;
  }

  get holding(): WindowsHolding {
    if (this.#holding === null) throw new Error("the windows process has not sent its partitions yet");
    return this.#holding;
  }

  follow(request: FollowRequest): void {
    this.#follows.push(request);
    this.#schedule();
  }

  unfollow(channel: number): void {
    this.#unfollows.push(channel);
    this.#schedule();
  }

  close(): void {
    this.#ws.close();
    setTimeout(() => this.#ws.terminate(), CONNECT_TIMEOUT_MS).unref();
  }

  #receive(data: Buffer): void {
    this.#heardAtMs = this.#clock.nowMs();
    try {
      const message = decodeWindowMessage(data);
      if (message.kind !== "holding") return this.#options.receive(this, message);
      this.#holding = message.holding;
      this.#options.connected(this);
    } catch (error) {
      this.#options.logger.error({ err: error }, "a windows process sent a message that cannot be read");
      this.#ws.terminate();
    }
  }

  #ping(): void {
    if (this.#clock.nowMs() - this.#heardAtMs > SILENT_TIMEOUT_MS) this.#ws.terminate();
    else if (this.#ws.readyState === this.#ws.OPEN) this.#ws.ping();
  }

  /**
   * Sends the requests of one turn of the event loop in shared messages. Requests to follow are
   * sent first: a request to unfollow may be about the same channel.
   */
  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      const follows = this.#follows.splice(0);
      const unfollows = this.#unfollows.splice(0);
      for (const accounts of piecesOf(follows)) this.#send({ type: "follow", accounts });
      for (const channels of piecesOf(unfollows)) this.#send({ type: "unfollow", channels });
    });
  }

  #send(message: StreamMessage): void {
    if (this.#ws.readyState === this.#ws.OPEN) this.#ws.send(JSON.stringify(message));
  }
}

function piecesOf<T>(list: readonly T[]): T[][] {
  const pieces: T[][] = [];
  for (let start = 0; start < list.length; start += MAX_ACCOUNTS_PER_MESSAGE) {
    pieces.push(list.slice(start, start + MAX_ACCOUNTS_PER_MESSAGE));
  }
  return pieces;
}
