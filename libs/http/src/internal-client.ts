import type { IncomingHttpHeaders } from "node:http";
import type { Readable } from "node:stream";
import type { SecureContext } from "node:tls";

import { HEADERS } from "@kapi/contracts";
import { assert } from "@kapi/kernel";
import {
  activeRequestId,
  ATTRIBUTE,
  isRecording,
  type Span,
  spanned,
  type Started,
  startSpan,
  TRACEPARENT_HEADER,
} from "@kapi/runtime";
import type { Dispatcher } from "undici";
import { z } from "zod";

import { Call, type InternalResponse } from "./call.ts";
import { CallQueue } from "./call-queue.ts";
import { Connections } from "./connections.ts";
import { DependencyError } from "./dependency-error.ts";
import { errorCodeOf } from "./owner-responses.ts";

export type { InternalResponse } from "./call.ts";

/** Default maximum number of connections to one service from one process. */
const DEFAULT_CONNECTIONS = 64;
/** Default maximum number of calls that wait for a connection; a further call fails at once. */
const DEFAULT_MAX_WAITING_CALLS = 10_000;
/** Stands for the organization id of calls for no organization, or for several organizations. */
const NO_ORGANIZATION = "";
/**
 * Maximum number of open streams; a further stream fails at once. Each stream has a connection of
 * its own, so a slow reader delays neither a call nor another stream.
 */
const MAX_STREAMS = 256;
/**
 * How long an idle connection is kept, in milliseconds. Shorter than at the server, so that no call
 * is sent on a connection that the server closes.
 */
const CLIENT_KEEP_ALIVE_MS = 30_000;
/** Maximum size of a response in memory, in bytes; larger responses need `stream`. */
const MAX_RESPONSE_BYTES = 64 * 1_048_576;
/** The port of an address that names none, by protocol. */
const DEFAULT_PORTS: Readonly<Record<string, number>> = { "http:": 80, "https:": 443 };
const UNAUTHORIZED = 401;
const SERVER_ERRORS_FROM = 500;

/**
 * Maximum number of times that a call is sent again after a lost connection. Each time, possibly
 * another process behind the address answers.
 */
const MAX_RESENDS = 2;
/**
 * Codes of errors after which no response can come: the connection was refused, reset or closed,
 * for example because the process ended.
 */
const LOST_CONNECTIONS: ReadonlySet<unknown> = new Set(["ECONNREFUSED", "ECONNRESET", "EPIPE", "UND_ERR_SOCKET"]);

/** Options of one call that differ from the defaults of its client. */
export interface CallOptions {
  /** The deadline of this call, in milliseconds. */
  readonly timeoutMs?: number;
  /** Further headers. The client's credentials win over a header of the same name. */
  readonly headers?: Readonly<Record<string, string>>;
  /**
   * Whether the call is idempotent: it is then sent again after a lost connection. Default: only
   * GET.
   */
  readonly repeatable?: boolean;
  /**
   * For `request` and `json`: the organization of the call. Above the organization's share of
   * waiting calls, the call fails with ApiError TOO_MANY_CONCURRENT_REQUESTS.
   */
  readonly organizationId?: string | undefined;
  /**
   * For `request` and `json`: aborts the call, at the other side too. The call fails with a
   * DependencyError.
   */
  readonly signal?: AbortSignal;
}

/** A streamed response. Destroying `body` ends the call at the other side too. */
export interface InternalStream {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Readable;
}

/**
 * Calls another service. Every method throws DependencyError if the service is unreachable, too
 * slow, or responds with 5xx or 401 (a wrong token is a mistake of kapi, never of the caller), and
 * if too many calls wait or too many streams are open. `request` and `json` also throw it if the
 * response is larger than 64 MiB.
 */
export interface InternalClient {
  /**
   * Returns the response if its status is below 500 and not 401. A Buffer is sent unchanged, any
   * other body as JSON.
   */
  request(method: string, path: string, body?: unknown, options?: CallOptions): Promise<InternalResponse>;
  /**
   * Returns the response body, parsed by `schema`. A status other than 2xx, or another shape, is a
   * DependencyError.
   */
  json<T>(method: string, path: string, body: unknown, schema: z.ZodType<T>, options?: CallOptions): Promise<T>;
  /**
   * Returns the response as a stream. `timeoutMs` is the deadline of its head, for all attempts
   * together, and then of each chunk that the reader waits for. A failure after the head is an
   * `error` event of `body`.
   */
  stream(method: string, path: string, options?: CallOptions): Promise<InternalStream>;
}

/** The address of one service, the credentials for it, and the limits of calls to it. */
export interface InternalClientOptions {
  /**
   * The service's address, such as http://127.0.0.1:4001. A path in it is the prefix of every path.
   */
  readonly baseUrl: string;
  /**
   * Headers that authenticate every call: `serviceCredentials`, or `tokenCredentials` for a trading
   * server.
   */
  readonly credentials: Readonly<Record<string, string>>;
  /** The deadline of a call, in milliseconds, unless the call has its own. */
  readonly timeoutMs: number;
  /**
   * The certificate authorities that are trusted. Default: the authorities that Node trusts.
   */
  readonly secureContext?: SecureContext | undefined;
  /** Maximum number of concurrent calls, and so of connections. Default 64. */
  readonly connections?: number;
  /** Maximum number of calls that wait for a connection. Default 10,000. */
  readonly maxWaitingCalls?: number;
  /**
   * The part of `connections` and `maxWaitingCalls` that one organization may use. Default: all.
   */
  readonly organizationShare?: OrganizationShare;
}

/** The share of an organization. All calls for no organization together have one share. */
export interface OrganizationShare {
  readonly connections: number;
  readonly waitingCalls: number;
}

/**
 * Creates a client that keeps its connections open. It connects at the first call. `stop` waits for
 * running calls for a limited time, then aborts them.
 */
export function startInternalClient(options: InternalClientOptions): Started<InternalClient> {
  const { origin } = new URL(options.baseUrl);
  const connections = options.connections ?? DEFAULT_CONNECTIONS;
  const { timeoutMs, secureContext } = options;
  const common = { origin, connectTimeoutMs: timeoutMs, keepAliveMs: CLIENT_KEEP_ALIVE_MS, secureContext };
  const calls = new Connections({ ...common, connections });
  const streams = new Connections({ ...common, connections: MAX_STREAMS });
  return {
    value: new PooledClient(options, calls, streams),
    stop: async () => {
      await Promise.all([calls.close(), streams.close()]);
    },
  };
}

class PooledClient implements InternalClient {
  readonly #options: InternalClientOptions;
  readonly #calls: Connections;
  readonly #queue: CallQueue;
  readonly #streams: Connections;
  readonly #pathPrefix: string;
  #openStreams = 0;

  constructor(options: InternalClientOptions, calls: Connections, streams: Connections) {
    this.#options = options;
    this.#calls = calls;
    const { connections = DEFAULT_CONNECTIONS, maxWaitingCalls = DEFAULT_MAX_WAITING_CALLS } = options;
    const share = options.organizationShare ?? { connections, waitingCalls: maxWaitingCalls };
    this.#queue = new CallQueue(() => calls.current, {
      maxRunning: connections,
      maxWaiting: maxWaitingCalls,
      maxRunningPerOrganization: share.connections,
      maxWaitingPerOrganization: share.waitingCalls,
    });
    this.#streams = streams;
    this.#pathPrefix = new URL(options.baseUrl).pathname.replace(/\/$/, "");
  }

  request(method: string, path: string, body?: unknown, options: CallOptions = {}): Promise<InternalResponse> {
    const span = this.#startSpan(method, path);
    if (span === null) return this.#request(method, path, body, options);
    return spanned(span, async () => {
      const response = await this.#request(method, path, body, withTraceHeaders(options, span));
      span.set({ [ATTRIBUTE.httpStatus]: response.status });
      return response;
    });
  }

  async #request(method: string, path: string, body: unknown, options: CallOptions): Promise<InternalResponse> {
    const what = this.#what(method, path);
    const dispatchOptions = this.#dispatchOptions(method, path, body, options);
    const endMs = performance.now() + (options.timeoutMs ?? this.#options.timeoutMs);
    const response = await resendWhileLost(isRepeatable(method, options), () => {
      const timeoutMs = Math.max(0, Math.ceil(endMs - performance.now()));
      const { current } = this.#calls;
      const onLate = (): void => this.#calls.replace(current);
      const call = new Call(what, { timeoutMs, maxBytes: MAX_RESPONSE_BYTES, onLate });
      this.#queue.send(dispatchOptions, call, options.organizationId ?? NO_ORGANIZATION);
      return options.signal === undefined ? call.response : abortedBy(options.signal, call);
    });
    throwIfFailed(what, response.status);
    return response;
  }

  async json<T>(
    method: string,
    path: string,
    body: unknown,
    schema: z.ZodType<T>,
    options: CallOptions = {},
  ): Promise<T> {
    const response = await this.request(method, path, body, options);
    const what = this.#what(method, path);
    if (response.status < 200 || response.status > 299) {
      throw new DependencyError(`${what}: answered ${response.status}`, { code: errorCodeOf(response) });
    }
    const parsed = schema.safeParse(jsonOf(what, response.body));
    if (parsed.success) return parsed.data;
    throw new DependencyError(`${what}: the response does not match the schema: ${z.prettifyError(parsed.error)}`);
  }

  async stream(method: string, path: string, options: CallOptions = {}): Promise<InternalStream> {
    const what = this.#what(method, path);
    if (this.#openStreams >= MAX_STREAMS) throw new DependencyError(`${what}: ${MAX_STREAMS} streams are open already`);
    this.#openStreams += 1;
    try {
      const span = this.#startSpan(method, path);
      const endMs = performance.now() + (options.timeoutMs ?? this.#options.timeoutMs);
      const stream = await spanned(span, () =>
        resendWhileLost(isRepeatable(method, options), () =>
          this.#openStream(method, path, endMs, withTraceHeaders(options, span)),
        ),
      );
      stream.body.once("close", () => {
        this.#openStreams -= 1;
      });
      return stream;
    } catch (error) {
      this.#openStreams -= 1;
      if (error instanceof DependencyError) throw error;
      throw new DependencyError(`${what}: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
    }
  }

  /** `endMs`: the deadline of the head, a time of `performance.now()`. */
  async #openStream(method: string, path: string, endMs: number, options: CallOptions): Promise<InternalStream> {
    const timeoutMs = options.timeoutMs ?? this.#options.timeoutMs;
    const abort = new AbortController();
    const { current } = this.#streams;
    const onLate = (): void => {
      abort.abort(new Error(`no answer within ${timeoutMs} ms`));
      this.#streams.replace(current);
    };
    const timer = setTimeout(onLate, Math.max(0, Math.ceil(endMs - performance.now())));
    try {
      const dispatchOptions = this.#dispatchOptions(method, path, undefined, options);
      const {
        statusCode: status,
        headers,
        body,
      } = await current.request({
        ...dispatchOptions,
        bodyTimeout: timeoutMs,
        signal: abort.signal,
      });
      // A stream that its reader destroys emits an error; without a listener the error would end
      // the process.
      body.on("error", () => undefined);
      if (isFailure(status)) body.destroy();
      throwIfFailed(this.#what(method, path), status);
      return { status, headers, body };
    } finally {
      clearTimeout(timer);
    }
  }

  /**
   * Starts the span of a call as a child of the active span. The span of a stream ends at its head.
   */
  #startSpan(method: string, path: string): Span | null {
    if (!isRecording()) return null;
    const { hostname, port, protocol } = new URL(this.#options.baseUrl);
    const attributes = {
      [ATTRIBUTE.httpMethod]: method,
      // Without the query, which may contain a search text.
      [ATTRIBUTE.urlPath]: this.#pathPrefix + path.replace(/\?.*$/, ""),
      [ATTRIBUTE.serverAddress]: hostname,
      [ATTRIBUTE.serverPort]: port === "" ? DEFAULT_PORTS[protocol] : Number(port),
    };
    return startSpan(method, { role: "client", attributes });
  }

  #what(method: string, path: string): string {
    return `${method} ${this.#options.baseUrl}${path}`;
  }

  #dispatchOptions(method: string, path: string, body: unknown, options: CallOptions): Dispatcher.DispatchOptions {
    assert(path.startsWith("/"), `the path of a call must begin with a slash: ${path}`);
    const headers: Record<string, string> = { ...options.headers, ...this.#options.credentials };
    if (body !== undefined) headers["content-type"] = "application/json";
    return {
      method,
      path: this.#pathPrefix + path,
      headers,
      body: body === undefined ? null : Buffer.isBuffer(body) ? body : JSON.stringify(body),
      // The call has its own deadline; undici's timers would be redundant.
      headersTimeout: 0,
      bodyTimeout: 0,
    };
  }
}

/**
 * Adds the `traceparent` of the call's span, and the request id. A service of kapi records a call
 * of another service only if the call has a `traceparent`.
 */
function withTraceHeaders(options: CallOptions, span: Span | null): CallOptions {
  if (span === null) return options;
  const requestId = activeRequestId();
  const named = requestId === undefined ? {} : { [HEADERS.requestId]: requestId };
  return { ...options, headers: { ...named, ...options.headers, [TRACEPARENT_HEADER]: span.traceparent } };
}

/** The response of the call. The call fails when `signal` is aborted. */
async function abortedBy(signal: AbortSignal, call: Call): Promise<InternalResponse> {
  const end = (): void => call.fail(new Error("the caller has aborted the call"));
  signal.addEventListener("abort", end, { once: true });
  try {
    if (signal.aborted) end();
    return await call.response;
  } finally {
    signal.removeEventListener("abort", end);
  }
}

function isRepeatable(method: string, { repeatable = method === "GET" }: CallOptions): boolean {
  return repeatable;
}

/** Sends a call. A repeatable call is sent again after a lost connection. */
async function resendWhileLost<T>(repeatable: boolean, send: () => Promise<T>): Promise<T> {
  for (let resends = repeatable ? MAX_RESENDS : 0; ; resends -= 1) {
    try {
      return await send();
    } catch (error) {
      if (resends === 0 || !isLost(error)) throw error;
    }
  }
}

function isLost(error: unknown): boolean {
  const cause = error instanceof DependencyError ? error.cause : error;
  return cause instanceof Error && "code" in cause && LOST_CONNECTIONS.has(cause.code);
}

function isFailure(status: number): boolean {
  return status >= SERVER_ERRORS_FROM || status === UNAUTHORIZED;
}

function throwIfFailed(what: string, status: number): void {
  if (isFailure(status)) throw new DependencyError(`${what}: answered ${status}`);
}

function jsonOf(what: string, body: Buffer): unknown {
  try {
    return JSON.parse(body.toString("utf8"));
  } catch (cause) {
    throw new DependencyError(`${what}: the response is not valid JSON`, { cause });
  }
}
