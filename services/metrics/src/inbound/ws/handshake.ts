import { type IncomingMessage, STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";

import {
  type Admission,
  type Admitted,
  authenticate,
  authorize,
  ChargeUnknown,
  type Directory,
  type RepeatedRefunds,
} from "@kapi/admission";
import { HEADERS, type KeyEntry, LIVE_METRICS_PATH, LIVE_METRICS_SCOPE } from "@kapi/contracts";
import { addressOf, ApiError, DependencyError } from "@kapi/http";
import { type Clock, uuidV7 } from "@kapi/kernel";

/** For billing. */
const OPERATION = "liveMetrics";
const ACCEPTED_REQUEST_ID = /^[\x21-\x7e]{1,200}$/;
const WEBSOCKET_KEY = /^[+/0-9A-Za-z]{22}==$/;
const VERSION_HEADER = "sec-websocket-version";
const WEBSOCKET_VERSION = "13";

export interface HandshakeContext {
  readonly directory: Directory;
  readonly admission: Pick<Admission, "admit">;
  readonly refunds: RepeatedRefunds;
  readonly clock: Clock;
  /** Told whose key it is, before anything is checked about it. */
  readonly seen: (organizationId: string) => void;
  /** Throws ApiError TOO_MANY_CONNECTIONS where the organization has all it may have. */
  readonly checkRoom: (organizationId: string) => void;
}

/** A client that may come in, and what its answer carries. */
export interface Admittance {
  readonly key: KeyEntry;
  readonly headers: readonly string[];
}

/** The id by which this handshake is billed and logged: the caller's where it is acceptable. */
export function requestIdOf(request: IncomingMessage, clock: Clock): string {
  const given = request.headers[HEADERS.requestId];
  return typeof given === "string" && ACCEPTED_REQUEST_ID.test(given) ? given : uuidV7(clock.nowMs());
}

/**
 * The checks of a handshake, in the order of all requests (decisions, 1.1): the same admission as
 * HTTP, at the price of a live connection.
 * @throws ApiError, to be answered before the upgrade (decisions, 10.3).
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
  context.seen(key.organizationId);
  authorize(key, LIVE_METRICS_SCOPE, directory);
  context.checkRoom(key.organizationId);
  if (!isHandshake(request)) throw notAHandshake();
  const address = addressOf({ ip: request.socket.remoteAddress ?? "" });
  const { charged, remaining } = await charge(context, key, requestId, address);
  return {
    key,
    headers: [
      `${HEADERS.requestId}: ${requestId}`,
      `${HEADERS.creditsCharged}: ${charged}`,
      `${HEADERS.creditsRemaining}: ${remaining}`,
    ],
  };
}

/**
 * Where the reply of Redis is lost the handshake is answered 500, and costs nothing: what may be
 * charged is given back.
 */
async function charge(
  { directory, admission, refunds, clock }: HandshakeContext,
  key: KeyEntry,
  requestId: string,
  address: string | null,
): Promise<Admitted> {
  const billed = { key, operation: OPERATION, requestId, chargeId: uuidV7(clock.nowMs()) };
  const { liveConnection: price, read: readPrice } = directory.prices();
  try {
    return await admission.admit({ ...billed, address, mode: "consume", price, readPrice });
  } catch (error) {
    if (error instanceof ChargeUnknown) refunds.add(billed);
    throw error;
  }
}

/**
 * Answers a handshake that failed, in the form of every error, and closes. `remaining`: the
 * organization's credits, null where they are not known (decisions, 1.6). Returns the status.
 */
export function refuseHandshake(socket: Duplex, error: unknown, requestId: string, remaining: number | null): number {
  const answer = toApiError(error);
  const body = JSON.stringify(answer.body());
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
  return answer.status;
}

function toApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  return error instanceof DependencyError
    ? new ApiError("DEPENDENCY_UNAVAILABLE", { headers: { [HEADERS.retryAfter]: "1" }, cause: error })
    : new ApiError("INTERNAL", { cause: error });
}

/** A client of another version of the protocol is told ours (RFC 6455, 4.4). */
function notAHandshake(): ApiError {
  const headers = { [VERSION_HEADER]: WEBSOCKET_VERSION };
  return new ApiError("VALIDATION_FAILED", { text: "Not a WebSocket handshake", headers });
}

function isHandshake({ method, headers }: IncomingMessage): boolean {
  return (
    method === "GET" &&
    headers.upgrade?.toLowerCase() === "websocket" &&
    headers[VERSION_HEADER] === WEBSOCKET_VERSION &&
    WEBSOCKET_KEY.test(headers["sec-websocket-key"] ?? "")
  );
}
