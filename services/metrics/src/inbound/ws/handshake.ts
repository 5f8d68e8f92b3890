import { type IncomingMessage, STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";

import {
  type Admission,
  type Admitted,
  authenticate,
  authorize,
  ChargeUnknown,
  type Directory,
  keyCaller,
  type RepeatedRefunds,
  requireAllowedNetwork,
} from "@kapi/admission";
import { HEADERS, type KeyEntry, LIVE_METRICS_PATH, LIVE_METRICS_SCOPE } from "@kapi/contracts";
import { ApiError, DependencyError } from "@kapi/http";
import { type Clock, uuidV7 } from "@kapi/kernel";

/** The operation's name for billing, and in the request log. */
export const LIVE_OPERATION = "liveMetrics";
const ACCEPTED_REQUEST_ID = /^[\x21-\x7e]{1,200}$/;
const WEBSOCKET_KEY = /^[+/0-9A-Za-z]{22}==$/;
/** A token (RFC 9110, 5.6.2). */
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const VERSION_HEADER = "sec-websocket-version";
const WEBSOCKET_VERSION = "13";

/** The dependencies of a handshake. */
export interface HandshakeContext {
  readonly directory: Directory;
  readonly admission: Pick<Admission, "admit">;
  readonly refunds: RepeatedRefunds;
  readonly clock: Clock;
  /** The network address of a client; null: unknown. */
  readonly clientAddress: (request: IncomingMessage) => string | null;
  /** Called with the key, before its network and scope are checked. */
  readonly keyKnown: (key: KeyEntry) => void;
  /**
   * Counts the connection. Throws ApiError: TOO_MANY_CONNECTIONS at the organization's limit,
   * DEPENDENCY_UNAVAILABLE while the process stops.
   */
  readonly acquireSlot: (organizationId: string) => void;
}

/** An admitted client and the headers of its response. */
export interface Admittance {
  readonly key: KeyEntry;
  /** Credits charged. */
  readonly charged: number;
  readonly headers: readonly string[];
}

/** Returns the request id for billing and logs: the caller's if it is valid, else a new one. */
export function requestIdOf(request: IncomingMessage, clock: Clock): string {
  const given = request.headers[HEADERS.requestId];
  return typeof given === "string" && ACCEPTED_REQUEST_ID.test(given) ? given : uuidV7(clock.nowMs());
}

/**
 * Checks a handshake, and charges the price of a live connection. The order of the checks is that
 * of decisions, 10.3. Unlike the 400 of an HTTP request, the 400 of a request that is not a
 * WebSocket handshake comes before 429 and 402.
 * @throws ApiError, or the error of the call to Redis. {@link rejectHandshake} answers both.
 */
export async function admitHandshake(
  context: HandshakeContext,
  request: IncomingMessage,
  requestId: string,
): Promise<Admittance> {
  const { directory, clock } = context;
  const [path] = (request.url ?? "").split("?", 1);
  if (path !== LIVE_METRICS_PATH) throw new ApiError("NOT_FOUND");
  const key = authenticate(directory, clock, request.headers.authorization);
  context.keyKnown(key);
  const address = context.clientAddress(request);
  requireAllowedNetwork(key, address);
  authorize(key, LIVE_METRICS_SCOPE, directory);
  context.acquireSlot(key.organizationId);
  if (!isHandshake(request)) throw notAHandshake();
  const { charged, remaining } = await charge(context, key, requestId, address);
  return {
    key,
    charged,
    headers: [
      `${HEADERS.requestId}: ${requestId}`,
      `${HEADERS.creditsCharged}: ${charged}`,
      `${HEADERS.creditsRemaining}: ${remaining}`,
    ],
  };
}

/**
 * Charges the handshake. If the reply of Redis is lost, the handshake returns 500 and costs
 * nothing: a possible charge is refunded.
 */
async function charge(
  { directory, admission, refunds, clock }: HandshakeContext,
  key: KeyEntry,
  requestId: string,
  address: string | null,
): Promise<Admitted> {
  const billed = { caller: keyCaller(key), operation: LIVE_OPERATION, requestId, chargeId: uuidV7(clock.nowMs()) };
  const { liveConnection: price, read: readPrice } = directory.prices();
  try {
    return await admission.admit({ ...billed, address, mode: "consume", price, readPrice });
  } catch (error) {
    if (error instanceof ChargeUnknown) refunds.add(billed);
    throw error;
  }
}

/**
 * Sends the error response of a failed handshake and closes the socket. `remaining`: the
 * organization's credits, or null if unknown (decisions, 1.6). Returns the sent error.
 */
export function rejectHandshake(socket: Duplex, error: unknown, requestId: string, remaining: number | null): ApiError {
  const answer = toApiError(error);
  const body = JSON.stringify(answer.body(requestId));
  const lines = [
    `HTTP/1.1 ${answer.status} ${STATUS_CODES[answer.status] ?? "Error"}`,
    "content-type: application/json; charset=utf-8",
    `content-length: ${Buffer.byteLength(body)}`,
    `${HEADERS.errorCode}: ${answer.code}`,
    `${HEADERS.requestId}: ${requestId}`,
    `${HEADERS.creditsCharged}: 0`,
    ...(remaining === null ? [] : [`${HEADERS.creditsRemaining}: ${remaining}`]),
    ...Object.entries(answer.headers ?? {}).map(([name, value]) => `${name}: ${value}`),
    "connection: close",
  ];
  socket.end(`${lines.join("\r\n")}\r\n\r\n${body}`, () => socket.destroy());
  return answer;
}

function toApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  return error instanceof DependencyError
    ? new ApiError("DEPENDENCY_UNAVAILABLE", { headers: { [HEADERS.retryAfter]: "1" }, cause: error })
    : new ApiError("INTERNAL", { cause: error });
}

/** The response names the supported protocol version (RFC 6455, 4.4). */
function notAHandshake(): ApiError {
  const headers = { [VERSION_HEADER]: WEBSOCKET_VERSION };
  return new ApiError("VALIDATION_FAILED", { text: "Not a WebSocket handshake", headers });
}

/** Whether this is a valid handshake. `ws` itself checks a handshake only after the charge. */
function isHandshake({ method, headers }: IncomingMessage): boolean {
  return (
    method === "GET" &&
    headers.upgrade?.toLowerCase() === "websocket" &&
    headers[VERSION_HEADER] === WEBSOCKET_VERSION &&
    WEBSOCKET_KEY.test(headers["sec-websocket-key"] ?? "") &&
    areSubprotocols(headers["sec-websocket-protocol"])
  );
}

/** Whether a header lists valid subprotocols without repeats, or is absent (RFC 6455, 4.1). */
function areSubprotocols(header: string | undefined): boolean {
  const names = header?.split(/[\t ]*,[\t ]*/) ?? [];
  return names.every((name) => TOKEN.test(name)) && new Set(names).size === names.length;
}
