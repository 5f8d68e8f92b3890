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

export type { InternalResponse } from "./call.ts";

/** Connections to one service from one process, by default. */
const DEFAULT_CONNECTIONS = 64;
/** Calls that wait for a connection, by default; one more fails at once. */
const DEFAULT_MAX_WAITING_CALLS = 10_000;
/** In place of an organization's id: calls that are made for none, or for several together. */
const NO_ORGANIZATION = "";
/**
 * Streams open at once; one more fails at once. Each has a connection of its own, beside those for
 * calls: a slow reader holds up neither a short call nor another stream.
 */
const MAX_STREAMS = 256;
/**
 * How long a connection is kept idle, in milliseconds; shorter than the server keeps it, so that
 * none is used as it closes.
 */
const CLIENT_KEEP_ALIVE_MS = 30_000;
/** Largest answer that is kept in memory, in bytes; larger ones are streamed. */
const MAX_RESPONSE_BYTES = 64 * 1_048_576;
const UNAUTHORIZED = 401;
const SERVER_ERRORS_FROM = 500;

/**
 * How often a call is sent again whose connection was lost: to the next process behind the address,
 * and to the one after it.
 */
const MAX_RESENDS = 2;
/**
 * No answer can come any more: refused, reset, or closed by the other side, as when its process
 * ends.
 */
const LOST_CONNECTIONS: ReadonlySet<unknown> = new Set(["ECONNREFUSED", "ECONNRESET", "EPIPE", "UND_ERR_SOCKET"]);

export interface CallOptions {
  /** The deadline of this call alone, in milliseconds. */
  readonly timeoutMs?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /**
   * Whether the call is idempotent; then it is sent again when its connection was lost. Default:
   * only GET.
   */
  readonly repeatable?: boolean;
  /**
   * The organization that the call of `request` is made for. Above its share of waiting calls it
   * fails with ApiError TOO_MANY_CONCURRENT_REQUESTS.
   */
  readonly organizationId?: string | undefined;
  /**
   * Ends the call of `request`, at the other side too, with a DependencyError: nobody waits for the
   * answer any more.
   */
  readonly signal?: AbortSignal;
}

/** An answer that is read as it comes. Destroying `body` ends the call at the other side too. */
export interface InternalStream {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Readable;
}

/**
 * Calls another service. Every method throws DependencyError when it is not reached, takes too
 * long, answers 5xx, or does not know us (401: a wrong token is our mistake, never the caller's).
 */
export interface InternalClient {
  /**
   * The answer's bytes, whatever its status below 500. A Buffer is sent as it is; any other body as
   * JSON.
   */
  request(method: string, path: string, body?: unknown, options?: CallOptions): Promise<InternalResponse>;
  /**
   * The answer checked by `schema`; any status but 2xx and any other shape is a DependencyError.
   */
  json<T>(method: string, path: string, body: unknown, schema: z.ZodType<T>, options?: CallOptions): Promise<T>;
  /**
   * The answer as a stream: `timeoutMs` to its head, then at most `timeoutMs` between two pieces
   * that the reader waits for.
   */
  stream(method: string, path: string, options?: CallOptions): Promise<InternalStream>;
}

export interface InternalClientOptions {
  /**
   * The service's address, such as http://127.0.0.1:4001; a path in it is put before every path.
   */
  readonly baseUrl: string;
  /**
   * Headers of every call that prove who calls: `serviceCredentials`, or `tokenCredentials` for a
   * trading server.
   */
  readonly credentials: Readonly<Record<string, string>>;
  /** The deadline of a call, in milliseconds, unless the call gives its own. */
  readonly timeoutMs: number;
  /**
   * Has the authorities that may have signed the service's certificate; without it those that Node
   * knows.
   */
  readonly secureContext?: SecureContext | undefined;
  /** Maximum number of calls at once, and so most connections. */
  readonly connections?: number;
  /** Maximum number of calls that wait for a connection. */
  readonly maxWaitingCalls?: number;
  /** What one organization has of both at most; without it an organization may have them all. */
  readonly organizationShare?: OrganizationShare;
}

/** The share of an organization. Calls for no organization have the same share together. */
export interface OrganizationShare {
  readonly connections: number;
  readonly waitingCalls: number;
}

/**
 * Makes a client over connections that are kept open. Nothing is connected before the first call.
 */
export function createInternalClient(options: InternalClientOptions): Started<InternalClient> {
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
      const response = await this.#request(method, path, body, traced(options, span));
      span.set({ [ATTRIBUTE.httpStatus]: response.status });
      return response;
    });
  }

  async #request(method: string, path: string, body: unknown, options: CallOptions): Promise<InternalResponse> {
    const what = this.#what(method, path);
    const dispatchOptions = this.#dispatchOptions(method, path, body, options);
    const endMs = performance.now() + (options.timeoutMs ?? this.#options.timeoutMs);
    const response = await whileLost(isRepeatable(method, options), () => {
      const timeoutMs = Math.max(0, Math.ceil(endMs - performance.now()));
      const { current } = this.#calls;
      const onLate = (): void => this.#calls.replace(current);
      const call = new Call(what, { timeoutMs, maxBytes: MAX_RESPONSE_BYTES, onLate });
      this.#queue.send(dispatchOptions, call, options.organizationId ?? NO_ORGANIZATION);
      return options.signal === undefined ? call.response : endedBy(options.signal, call);
    });
    refuseFailure(what, response.status);
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
      throw new DependencyError(`${what}: answered ${response.status}`, { status: response.status });
    }
    const parsed = schema.safeParse(jsonOf(what, response.body));
    if (parsed.success) return parsed.data;
    throw new DependencyError(`${what}: not the agreed shape: ${z.prettifyError(parsed.error)}`, {
      status: response.status,
    });
  }

  async stream(method: string, path: string, options: CallOptions = {}): Promise<InternalStream> {
    const what = this.#what(method, path);
    if (this.#openStreams >= MAX_STREAMS) throw new DependencyError(`${what}: ${MAX_STREAMS} streams are open already`);
    this.#openStreams += 1;
    try {
      const span = this.#startSpan(method, path);
      const stream = await spanned(span, () =>
        whileLost(isRepeatable(method, options), () => this.#openStream(method, path, traced(options, span))),
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

  async #openStream(method: string, path: string, options: CallOptions): Promise<InternalStream> {
    const timeoutMs = options.timeoutMs ?? this.#options.timeoutMs;
    const abort = new AbortController();
    const { current } = this.#streams;
    const timer = setTimeout(() => {
      abort.abort(new Error(`no answer within ${timeoutMs} ms`));
      this.#streams.replace(current);
    }, timeoutMs);
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
      // A reader that destroys the stream makes it emit an error; without this listener that would
      // end the process.
      body.on("error", () => undefined);
      if (isFailure(status)) body.destroy();
      refuseFailure(this.#what(method, path), status);
      return { status, headers, body };
    } finally {
      clearTimeout(timer);
    }
  }

  /** The span of a call, of a stream until its head; beneath what the call is made for. */
  #startSpan(method: string, path: string): Span | null {
    if (!isRecording()) return null;
    const { hostname, port } = new URL(this.#options.baseUrl);
    const attributes = {
      [ATTRIBUTE.httpMethod]: method,
      // Without the query, which may hold what somebody searched for.
      [ATTRIBUTE.urlPath]: this.#pathPrefix + path.replace(/\?.*$/, ""),
      [ATTRIBUTE.serverAddress]: hostname,
      [ATTRIBUTE.serverPort]: Number(port),
    };
    return startSpan(method, { role: "client", attributes });
  }

  #what(method: string, path: string): string {
    return `${method} ${this.#options.baseUrl}${path}`;
  }

  #dispatchOptions(method: string, path: string, body: unknown, options: CallOptions): Dispatcher.DispatchOptions {
    assert(path.startsWith("/"), "an internal path begins with a slash");
    const headers: Record<string, string> = { ...options.headers, ...this.#options.credentials };
    if (body !== undefined) headers["content-type"] = "application/json";
    return {
      method,
      path: this.#pathPrefix + path,
      headers,
      body: body === undefined ? null : Buffer.isBuffer(body) ? body : JSON.stringify(body),
      // The deadline is the call's own; undici's two timers beside it would only cost.
      headersTimeout: 0,
      bodyTimeout: 0,
    };
  }
}

/**
 * The call's span goes along; without one the other side records nothing: only requests from
 * outside begin a trace.
 */
function traced(options: CallOptions, span: Span | null): CallOptions {
  if (span === null) return options;
  const requestId = activeRequestId();
  const named = requestId === undefined ? {} : { [HEADERS.requestId]: requestId };
  return { ...options, headers: { ...named, ...options.headers, [TRACEPARENT_HEADER]: span.traceparent } };
}

/** The response of the call, which fails once `signal` is aborted. */
async function endedBy(signal: AbortSignal, call: Call): Promise<InternalResponse> {
  const end = (): void => call.fail(new Error("nobody waits for the answer any more"));
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

/** Sends; where the connection is lost and the call may be repeated, again over another one. */
async function whileLost<T>(repeatable: boolean, send: () => Promise<T>): Promise<T> {
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

function refuseFailure(what: string, status: number): void {
  if (isFailure(status)) throw new DependencyError(`${what}: answered ${status}`, { status });
}

function jsonOf(what: string, body: Buffer): unknown {
  try {
    return JSON.parse(body.toString("utf8"));
  } catch (cause) {
    throw new DependencyError(`${what}: the answer is no JSON`, { cause });
  }
}
