/**
 * One connection of the live stream, from its handshake to its end. It reports when it is ready,
 * passes messages on, and ends if nothing arrives for {@link SILENCE_MS}.
 */
import { errorOfStatus, type KapiError, ConnectionError } from "../errors.ts";
import { parseErrorBody } from "../http/error-body.ts";
import type { ServerMessage } from "./events.ts";
import type { LiveSocket, Rejection, SocketFactory } from "./socket.ts";

/**
 * If nothing arrives for this time, the connection counts as lost. The server pings every 20 s, so
 * two pings are missing then.
 */
export const SILENCE_MS = 45_000;
/**
 * At most `MESSAGES_PER_TURN` messages are sent in `TURN_MS`, which is 800 a second. By default,
 * kapi reads at most 1,000 messages a second from a connection.
 */
const MESSAGES_PER_TURN = 200;
const TURN_MS = 250;
/** Close code for a key that was revoked, has expired, or has lost the scope of the stream. */
const KEY_REVOKED = 4401;

/** How a connection ended. */
export interface ConnectionEnd {
  /**
   * The rejection of the handshake, the 401 of a key that is no longer valid, or an error with the
   * code `CLOSED_<close code>`. If the error is not `retryable`, the client does not connect
   * again.
   */
  readonly error: KapiError;
  /**
   * Whether the server had accepted the connection. If so, the client waits the shortest time
   * before it connects again.
   */
  readonly wasReady: boolean;
}

/** Gets what a {@link Connection} receives. */
interface ConnectionListener {
  /** The server has accepted the connection: accounts can be subscribed to. */
  onReady(): void;
  /** Every message except the one that accepts the connection, in order. */
  onMessage(message: ServerMessage): void;
}

/** One connection of the live stream. After its end it is not used again. */
export class Connection {
  /** Resolves when the connection has ended, for whatever reason. Never rejects. */
  readonly ended: Promise<ConnectionEnd>;
  readonly #listener: ConnectionListener;
  readonly #socket: LiveSocket;
  readonly #outgoing: string[] = [];
  #turn: NodeJS.Timeout | null = null;
  #sentInTurn = 0;
  #silence: NodeJS.Timeout;
  #isReady = false;
  #rejection: KapiError | null = null;

  constructor(factory: SocketFactory, url: string, authorization: string, listener: ConnectionListener) {
    this.#listener = listener;
    const { promise, resolve } = deferred<ConnectionEnd>();
    this.ended = promise;
    this.#silence = setTimeout(() => this.#socket.terminate(), SILENCE_MS);
    this.#socket = factory(
      url,
      { authorization },
      {
        onMessage: (text) => this.#receive(text),
        onPing: () => this.#silence.refresh(),
        onRejection: (rejection) => (this.#rejection = errorOfRejection(rejection)),
        onClose: (code) => {
          clearTimeout(this.#silence);
          if (this.#turn !== null) clearTimeout(this.#turn);
          resolve(this.#endOf(code));
        },
      },
    );
  }

  /** Whether the server has accepted the connection. */
  get isReady(): boolean {
    return this.#isReady;
  }

  /** Sends a message, or queues it if `MESSAGES_PER_TURN` messages were sent in this turn. */
  send(message: object): void {
    this.#outgoing.push(JSON.stringify(message));
    this.#sendAllowed();
  }

  /** Stops reading, so that kapi stops sending. */
  pause(): void {
    // Nothing is read during a pause, so silence does not mean a lost connection.
    clearTimeout(this.#silence);
    this.#socket.pause();
  }

  /** Reads again after {@link Connection.pause}. */
  resume(): void {
    this.#silence = setTimeout(() => this.#socket.terminate(), SILENCE_MS);
    this.#socket.resume();
  }

  /** Closes cleanly; {@link Connection.ended} resolves then. */
  close(): void {
    this.#socket.close();
  }

  #sendAllowed(): void {
    const allowed = this.#outgoing.splice(0, MESSAGES_PER_TURN - this.#sentInTurn);
    for (const text of allowed) this.#socket.send(text);
    this.#sentInTurn += allowed.length;
    this.#turn ??= setTimeout(() => {
      this.#turn = null;
      this.#sentInTurn = 0;
      if (this.#outgoing.length > 0) this.#sendAllowed();
    }, TURN_MS);
  }

  #receive(text: string): void {
    this.#silence.refresh();
    const message = messageOf(text);
    if (message === null) return;
    if (message.type === "connected") {
      this.#isReady = true;
      this.#listener.onReady();
    } else this.#listener.onMessage(message);
  }

  #endOf(code: number): ConnectionEnd {
    const wasReady = this.#isReady;
    this.#isReady = false;
    if (code === KEY_REVOKED) {
      const text = "the management key was revoked, has expired, or has lost the scope metrics:read";
      const error = errorOfStatus(401, text, {
        code: "AUTHENTICATION_REQUIRED",
        requestId: "",
        retryable: false,
      });
      return { error, wasReady };
    }
    return { error: this.#rejection ?? closeError(code), wasReady };
  }
}

function closeError(code: number): ConnectionError {
  return new ConnectionError("the connection of the live stream ended", {
    status: null,
    code: `CLOSED_${code}`,
    requestId: "",
    retryable: true,
  });
}

function errorOfRejection({ status, headers, body }: Rejection): KapiError {
  const { error, code = headers["x-error-code"] ?? `HTTP_${status}` } = parseErrorBody(body);
  return errorOfStatus(status, error ?? `the handshake was answered with ${status}`, {
    code,
    requestId: headers["x-request-id"] ?? "",
    // A key that is not valid or lacks the scope would be rejected again.
    retryable: status !== 401 && (status !== 403 || code === "TOO_MANY_CONNECTIONS"),
    retryAfterS: Number(headers["retry-after"] ?? Number.NaN) || null,
  });
}

/** Null for a message that is not JSON, such as `pong`. */
function messageOf(text: string): ServerMessage | null {
  try {
    return JSON.parse(text) as ServerMessage;
  } catch {
    return null;
  }
}

function deferred<T>(): { readonly promise: Promise<T>; readonly resolve: (value: T) => void } {
  let resolve: (value: T) => void = () => undefined;
  const promise = new Promise<T>((settle) => (resolve = settle));
  return { promise, resolve };
}
