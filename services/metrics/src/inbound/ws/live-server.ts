import { randomUUID } from "node:crypto";
import type { IncomingMessage, Server } from "node:http";
import type { Duplex } from "node:stream";

import type { Admission, AvailableCredits, RepeatedRefunds, RequestLog } from "@kapi/admission";
import { type DirectoryEntry, HEADERS, type KeyEntry, LIVE_CLOSE_CODES } from "@kapi/contracts";
import { ApiError } from "@kapi/http";
import { delay, monotonicClock } from "@kapi/kernel";
import type { Logger, Started } from "@kapi/runtime";
import { type ServerOptions, WebSocket, WebSocketServer } from "ws";

import { type Admittance, admitHandshake, rejectHandshake, requestIdOf } from "./handshake.ts";
import { countClose, countHandshake, type LiveLoad } from "./live-measures.ts";
import { type LiveContext, LiveSocket } from "./live-socket.ts";
import { beginLoggedHandshake } from "./logged-handshakes.ts";
import { SocketWriter } from "./socket-writer.ts";

/** Maximum size of a message of a client, in bytes. */
export const MAX_MESSAGE_BYTES = 16 * 1_024;
/** Interval of the check that closes stuck sockets, and sockets whose key may no longer be used. */
export const CHECK_INTERVAL_MS = 1_000;
/** Interval between pings of the server. */
export const PING_INTERVAL_MS = 20_000;
/**
 * Time limit for the client's close frame. It is long, because a slow client must first read all
 * bytes that were sent before this process's close frame.
 */
const CLOSE_TIMEOUT_MS = 45_000;
/**
 * A stopping process spreads the closing of its sockets over this time, so that clients reconnect
 * to other processes one after another. This time and `STOP_TIMEOUT_MS` together are below the time
 * limit for the stop of one component (`STOP_DEADLINE_MS`).
 */
const CLOSE_SPREAD_MS = 5_000;
/** Time between two closes if few sockets are open; with many sockets the time is shorter. */
const CLOSE_INTERVAL_MS = 20;
/** Time limit of a stopping process for the last close frames. */
const STOP_TIMEOUT_MS = 2_000;
/** Interval at which a stopping process looks for open sockets. */
const CLOSED_POLL_MS = 20;
/** The answer to a handshake while the process stops: the client can connect to another process. */
const STOPPING = new ApiError("DEPENDENCY_UNAVAILABLE", { headers: { [HEADERS.retryAfter]: "1" } });
/** The close code of `ws` for a message above its limit (RFC 6455, 7.4.1). */
const MESSAGE_TOO_BIG = 1009;
const SWITCHING_PROTOCOLS = 101;

/** The dependencies and limits of the live server. */
export interface LiveServerOptions extends Omit<LiveContext, "limits"> {
  /** The HTTP server whose upgrades are handled. */
  readonly server: Server;
  readonly logger: Logger;
  readonly admission: Admission;
  readonly refunds: RepeatedRefunds;
  readonly requestLog: RequestLog;
  /** The network address of a client; null: unknown. */
  readonly clientAddress: (request: IncomingMessage) => string | null;
  readonly availableCredits: AvailableCredits;
  readonly limits: LiveContext["limits"] & {
    readonly maxSocketsPerOrganization: number;
    readonly maxBufferedBytes: number;
  };
}

/** The live sockets of this process. */
export interface LiveServer {
  /** Returns the load at this moment. */
  load(): LiveLoad;
}

/**
 * A socket that closes with 4413 if a message is too large (decisions, 10.3). `ws` uses 1009.
 */
class LiveWebSocket extends WebSocket {
  /**
   * Called before a close frame is sent, to write pending answers first. `ws` itself also calls
   * `close`: when the client closes the connection or violates the protocol.
   */
  beforeClose = (): void => undefined;

  /**
   * The code of the last call of `close`, with 4413 in place of 1009; null before, or if the call
   * had no code.
   */
  closeCode: number | null = null;

  override close(code?: number, reason?: string | Buffer): void {
    this.beforeClose();
    const sent = code === MESSAGE_TOO_BIG ? LIVE_CLOSE_CODES.messageTooLarge : code;
    this.closeCode = sent ?? null;
    super.close(sent, reason);
  }
}

/**
 * Serves live connections. `stop` rejects new ones (500 with Retry-After) and closes the open ones
 * with 1012, spread over {@link CLOSE_SPREAD_MS}. Each socket is served until it is closed.
 */
export function startLiveServer(options: LiveServerOptions): Started<LiveServer> {
  const live = new LiveConnections(options);
  return { value: live, stop: () => live.stop() };
}

class LiveConnections implements LiveServer {
  readonly #options: LiveServerOptions;
  readonly #wss: ReturnType<typeof createWebSocketServer>;
  readonly #sockets = new Set<LiveSocket>();
  readonly #byKey = new Map<string, Set<LiveSocket>>();
  /** Number of connections, open or being admitted, by organization. */
  readonly #connections = new Map<string, number>();
  readonly #headers = new WeakMap<IncomingMessage, readonly string[]>();
  readonly #timers: NodeJS.Timeout[];
  readonly #stopWatching: () => void;
  #stopping = false;

  constructor(options: LiveServerOptions) {
    this.#options = options;
    this.#wss = createWebSocketServer();
    this.#wss.on("headers", (headers, request) => headers.push(...(this.#headers.get(request) ?? [])));
    this.#stopWatching = options.directory.onChange((entry) => this.#changed(entry));
    this.#timers = [
      setInterval(() => this.#check(), CHECK_INTERVAL_MS),
      setInterval(() => this.#ping(), PING_INTERVAL_MS),
    ];
    options.server.on("upgrade", (request: IncomingMessage, socket: Duplex, head: Buffer) => {
      void this.#upgrade(request, socket, head);
    });
  }

  load(): LiveLoad {
    let subscriptions = 0;
    let stalled = 0;
    let bufferedBytes = 0;
    let mostBufferedBytes = 0;
    for (const socket of this.#sockets) {
      subscriptions += socket.subscriptions;
      if (socket.isStalled) stalled += 1;
      bufferedBytes += socket.bufferedBytes;
      mostBufferedBytes = Math.max(mostBufferedBytes, socket.bufferedBytes);
    }
    return { sockets: this.#sockets.size, subscriptions, stalled, bufferedBytes, mostBufferedBytes };
  }

  async stop(): Promise<void> {
    this.#stopping = true;
    await this.#closeSpread();
    this.#stopWatching();
    for (const timer of this.#timers) clearInterval(timer);
    const deadlineMs = monotonicClock.nowMs() + STOP_TIMEOUT_MS;
    while (this.#sockets.size > 0 && monotonicClock.nowMs() < deadlineMs) await delay(CLOSED_POLL_MS);
    for (const socket of this.#sockets) socket.terminate();
  }

  /**
   * Closes the open sockets one after another. A socket that opens after this call is closed at
   * once.
   */
  async #closeSpread(): Promise<void> {
    const open = [...this.#sockets];
    const eachMs = Math.min(CLOSE_INTERVAL_MS, CLOSE_SPREAD_MS / open.length);
    const begunMs = monotonicClock.nowMs();
    let closed = 0;
    for (const socket of open) {
      // If a timer is late, several sockets are closed at once.
      while (monotonicClock.nowMs() < begunMs + closed * eachMs) await delay(CLOSE_INTERVAL_MS);
      socket.close(LIVE_CLOSE_CODES.restart);
      closed += 1;
    }
  }

  async #upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    const destroy = (): void => void socket.destroy();
    socket.on("error", destroy);
    const requestId = requestIdOf(request, this.#options.clock);
    const logged = beginLoggedHandshake(this.#options, request, requestId);
    let organizationId: string | null = null;
    let keyOrganizationId: string | null = null;
    const context = {
      ...this.#options,
      keyKnown: (key: KeyEntry): void => {
        keyOrganizationId = key.organizationId;
        logged.keyKnown(key);
      },
      acquireSlot: (id: string): void => {
        this.#acquireSlot(id);
        organizationId = id;
      },
    };
    try {
      const admitted = await admitHandshake(context, request, requestId);
      socket.off("error", destroy);
      logged.end({ status: SWITCHING_PROTOCOLS, errorCode: null, creditsCharged: admitted.charged });
      this.#open(request, socket, head, admitted);
    } catch (error) {
      if (organizationId !== null) this.#releaseSlot(organizationId);
      if (!(error instanceof ApiError) || (error.status >= 500 && error !== STOPPING)) {
        this.#options.logger.warn({ err: error, requestId }, "a live handshake failed");
      }
      const remaining =
        keyOrganizationId === null ? null : await this.#options.availableCredits(keyOrganizationId, error);
      const { status, code } = rejectHandshake(socket, error, requestId, remaining);
      logged.end({ status, errorCode: code, creditsCharged: 0 });
      countHandshake(status);
    }
  }

  /** Opens the WebSocket. The slot of the connection is released when the raw socket closes. */
  #open(request: IncomingMessage, socket: Duplex, head: Buffer, { key, headers }: Admittance): void {
    const release = (): void => this.#releaseSlot(key.organizationId);
    if (socket.destroyed) return release();
    socket.once("close", release);
    this.#headers.set(request, headers);
    this.#wss.handleUpgrade(request, socket, head, (ws) => {
      countHandshake(SWITCHING_PROTOCOLS);
      const writer = new SocketWriter({
        socket,
        maxBufferedBytes: this.#options.limits.maxBufferedBytes,
        isOpen: () => ws.readyState === ws.OPEN,
        onDrain: () => live.drained(),
      });
      const live = new LiveSocket({ context: this.#options, ws, writer, key, sessionId: randomUUID() });
      ws.beforeClose = () => writer.flush();
      this.#sockets.add(live);
      const ofKey = this.#byKey.get(key.keyId) ?? new Set();
      this.#byKey.set(key.keyId, ofKey.add(live));
      ws.on("error", (error) => {
        this.#options.logger.debug({ err: error }, "a live connection failed");
        // `ws` has closed the connection, because the client violated the protocol.
        if (isProtocolError(error) && ws.closeCode !== null) countClose(ws.closeCode);
      });
      ws.on("close", () => this.#forget(live));
      // The key may have been revoked during admission.
      const current = this.#options.directory.key(key.keyId);
      if (current !== undefined && current !== key) live.keyChanged(current);
      if (this.#stopping) live.close(LIVE_CLOSE_CODES.restart);
    });
  }

  #forget(live: LiveSocket): void {
    this.#sockets.delete(live);
    const ofKey = this.#byKey.get(live.keyId);
    if (ofKey?.delete(live) === true && ofKey.size === 0) this.#byKey.delete(live.keyId);
  }

  #acquireSlot(organizationId: string): void {
    if (this.#stopping) throw STOPPING;
    const connections = this.#connections.get(organizationId) ?? 0;
    if (connections >= this.#options.limits.maxSocketsPerOrganization) throw new ApiError("TOO_MANY_CONNECTIONS");
    this.#connections.set(organizationId, connections + 1);
  }

  #releaseSlot(organizationId: string): void {
    const connections = (this.#connections.get(organizationId) ?? 1) - 1;
    if (connections === 0) this.#connections.delete(organizationId);
    else this.#connections.set(organizationId, connections);
  }

  #changed(entry: DirectoryEntry): void {
    if (entry.kind === "key") for (const socket of this.#byKey.get(entry.keyId) ?? []) socket.keyChanged(entry);
    if (entry.kind === "server") for (const socket of this.#sockets) socket.accessChanged();
  }

  #check(): void {
    const nowMs = this.#options.clock.nowMs();
    for (const socket of this.#sockets) socket.check(nowMs);
  }

  #ping(): void {
    for (const socket of this.#sockets) socket.ping();
  }
}

/** Whether the client violated the protocol. Otherwise the connection failed. */
function isProtocolError(error: NodeJS.ErrnoException): boolean {
  return error.code?.startsWith("WS_ERR_") === true;
}

function createWebSocketServer() {
  const settings: ServerOptions<typeof LiveWebSocket> & { readonly closeTimeout: number } = {
    noServer: true,
    clientTracking: false,
    autoPong: false,
    perMessageDeflate: false,
    maxPayload: MAX_MESSAGE_BYTES,
    closeTimeout: CLOSE_TIMEOUT_MS,
    WebSocket: LiveWebSocket,
  };
  return new WebSocketServer(settings);
}
