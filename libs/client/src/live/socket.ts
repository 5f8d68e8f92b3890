/** The WebSocket of the live stream. Tests use another {@link SocketFactory}. */
import { WebSocket } from "ws";

const HANDSHAKE_TIMEOUT_MS = 10_000;
/** Longest accepted message, in bytes; kapi's messages have less than 1 KiB. */
const MAX_MESSAGE_BYTES = 64 * 1024;
/** Maximum number of characters that are kept of the body of a rejection. */
const MAX_REJECTION_CHARACTERS = 16 * 1024;

/** An HTTP answer to the handshake in place of a WebSocket. */
export interface Rejection {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: string;
}

/** What happens on a socket. After `onClose` nothing else happens. */
export interface SocketListener {
  onMessage(text: string): void;
  /** A ping of the server arrived. */
  onPing(): void;
  /** `code` is a close code of WebSocket; 1006 without a close frame. */
  onClose(code: number): void;
  /** The handshake was rejected; `onClose` follows. */
  onRejection(rejection: Rejection): void;
}

/** One WebSocket. What arrives goes to the {@link SocketListener} that was given to the factory. */
export interface LiveSocket {
  /** Sends a message; ignored if the socket is not open. */
  send(text: string): void;
  /** Stops reading, so that the server stops sending. */
  pause(): void;
  resume(): void;
  /** Closes cleanly. */
  close(): void;
  /** Ends the connection at once. */
  terminate(): void;
}

/** Opens a socket. */
export type SocketFactory = (
  url: string,
  headers: Readonly<Record<string, string>>,
  listener: SocketListener,
) => LiveSocket;

/** Opens a socket over the network. */
export const connectSocket: SocketFactory = (url, headers, listener) => {
  const socket = new WebSocket(url, {
    headers,
    perMessageDeflate: false,
    handshakeTimeout: HANDSHAKE_TIMEOUT_MS,
    maxPayload: MAX_MESSAGE_BYTES,
  });
  socket.on("message", (data: Buffer) => listener.onMessage(data.toString("utf8")));
  socket.on("ping", () => listener.onPing());
  // An error is always followed by "close".
  socket.on("error", () => undefined);
  socket.on("close", (code) => listener.onClose(code));
  socket.on("unexpected-response", (_request, response) => {
    let body = "";
    response.setEncoding("utf8");
    response.on("data", (text: string) => (body = (body + text).slice(0, MAX_REJECTION_CHARACTERS)));
    response.on("close", () => {
      const headers = response.headers as Readonly<Record<string, string | undefined>>;
      listener.onRejection({ status: response.statusCode ?? 0, headers, body });
      socket.terminate();
    });
  });
  return {
    send: (text) => {
      if (socket.readyState === WebSocket.OPEN) socket.send(text);
    },
    pause: () => socket.pause(),
    resume: () => socket.resume(),
    close: () => socket.close(),
    terminate: () => socket.terminate(),
  };
};
