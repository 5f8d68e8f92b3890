/**
 * Serves the windows of this process to stream processes, one connection each. Like a client's
 * socket, a connection has a cursor for each followed account and no queue. A stream process that
 * reads slowly gets its samples later, without those that have left the window by then.
 */
import type { IncomingMessage, Server } from "node:http";
import type { Duplex } from "node:stream";

import { type WindowsHolding, METRICS_ROUTES } from "@kapi/contracts";
import { ApiError, type CallerSecrets, mayCall } from "@kapi/http";
import { type Clock, uuidV7 } from "@kapi/kernel";
import { type Logger, observed, type Started } from "@kapi/runtime";
import { type WebSocket, WebSocketServer } from "ws";

import { encodeHolding, MAX_REQUEST_BYTES } from "../../domain/codec/window-message.ts";
import type { SampleSource } from "../../domain/sample-source.ts";
import { binaryFrameStart } from "../../domain/websocket-frame.ts";
import { rejectHandshake } from "./handshake.ts";
import { SocketWriter } from "./socket-writer.ts";
import type { SubscriptionHub } from "./subscription-hub.ts";
import { StreamConnection } from "./stream-connection.ts";

/** Maximum number of unsent bytes of one stream process; above it no samples are written. */
const MAX_BUFFERED_BYTES = 16 * 1_024 * 1_024;
/** How long a connection may stay stalled before it is terminated. */
const STUCK_TIMEOUT_MS = 30_000;
/** How long a connection may be without a ping before it is terminated: pings come every 2 s. */
const SILENT_TIMEOUT_MS = 30_000;
/**
 * Interval at which connections are checked, and at which requests for a position that this process
 * has not read yet are tried again.
 */
const CHECK_INTERVAL_MS = 20;
/** The close code of a process that stops (RFC 6455, 7.4.1). */
const GOING_AWAY = 1001;

/** The dependencies of the window server. */
export interface WindowServerOptions {
  readonly server: Server;
  readonly secrets: CallerSecrets;
  readonly source: SampleSource;
  readonly hub: SubscriptionHub;
  /** The partitions that this process holds. */
  readonly holding: WindowsHolding;
  /**
   * Returns a position of `metrics.samples`. This process has applied every sample of the account
   * before this position.
   */
  readonly positionOf: (key: string) => number;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * Starts to serve windows. `stop` closes every connection; the stream processes continue at other
 * windows processes.
 */
export function startWindowServer(options: WindowServerOptions): Started<null> {
  const { server, secrets, holding, clock, logger } = options;
  const wss = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    maxPayload: MAX_REQUEST_BYTES,
  });
  const connections = new Map<StreamConnection, { readonly ws: WebSocket; heardAtMs: number }>();
  const onUpgrade = (request: IncomingMessage, socket: Duplex, head: Buffer): void => {
    const [path] = (request.url ?? "").split("?", 1);
    const { method, path: expected } = METRICS_ROUTES.followWindows;
    const destroy = (): void => void socket.destroy();
    socket.on("error", destroy);
    const reject = (error: ApiError): void => void rejectHandshake(socket, error, uuidV7(clock.nowMs()), null);
    if (path !== expected) return reject(new ApiError("NOT_FOUND"));
    if (!mayCall(request.headers, "metrics", `${method} ${expected}`, secrets)) {
      return reject(new ApiError("AUTHENTICATION_REQUIRED", { text: "Internal authentication required" }));
    }
    socket.off("error", destroy);
    wss.handleUpgrade(request, socket, head, (ws) => {
      const writer = new SocketWriter({
        socket,
        maxBufferedBytes: MAX_BUFFERED_BYTES,
        isOpen: () => ws.readyState === ws.OPEN,
        onDrain: () => connection.drained(),
      });
      const connection = new StreamConnection({ ...options, writer });
      const entry = { ws, heardAtMs: clock.nowMs() };
      connections.set(connection, entry);
      ws.on("ping", () => (entry.heardAtMs = clock.nowMs()));
      writer.push(binaryFrameStart(encodeHolding(holding), 0));
      ws.on("message", (data, isBinary) => {
        if (isBinary || !Buffer.isBuffer(data)) return ws.terminate();
        try {
          connection.receive(data.toString("utf8"));
        } catch (error) {
          logger.error({ err: error }, "a stream process sent a message that cannot be read");
          ws.terminate();
        }
      });
      ws.on("error", (error) => logger.warn({ err: error }, "the connection of a stream process failed"));
      ws.on("close", () => {
        connections.delete(connection);
        connection.end();
      });
    });
  };
  server.on("upgrade", onUpgrade);
  const checks = setInterval(() => {
    const nowMs = clock.nowMs();
    for (const [connection, { ws, heardAtMs }] of connections) {
      const isSilent = nowMs - heardAtMs > SILENT_TIMEOUT_MS;
      if (isSilent || connection.isStuck(nowMs, STUCK_TIMEOUT_MS)) ws.terminate();
      else connection.openReached();
    }
  }, CHECK_INTERVAL_MS);
  const endFollowed = observed(
    "metrics.windows.followed",
    "Accounts that stream processes follow at this windows process; an account with two followers counts twice",
    "{account}",
    () => [{ value: [...connections.keys()].reduce((sum, { followed }) => sum + followed, 0) }],
  );
  return {
    value: null,
    stop: () => {
      endFollowed();
      clearInterval(checks);
      server.off("upgrade", onUpgrade);
      for (const { ws } of connections.values()) ws.close(GOING_AWAY);
      for (const connection of connections.keys()) connection.end();
      return Promise.resolve();
    },
  };
}
