/**
 * Sends requests to the API: authentication, deadlines, retries, and errors as classes. The
 * resources of the client are built on {@link Transport.request}.
 */
import { randomUUID } from "node:crypto";

import { ConnectionError, errorOfStatus, KapiError } from "../errors.ts";
import { formatRequest, parseAnswer } from "../money.ts";
import { VERSION } from "../version.ts";
import { parseErrorBody } from "./error-body.ts";
import { type RetryOptions, RetryPolicy } from "./retry.ts";

const DEFAULT_TIMEOUT_MS = 30_000;
/**
 * How long after the deadline of a request its last attempt may still wait for the answer, in
 * milliseconds.
 */
const LAST_ANSWER_MS = 1_000;
/** Codes of connection failures after which certainly nothing was sent. */
const NOTHING_SENT = new Set(["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "EHOSTUNREACH", "UND_ERR_CONNECT_TIMEOUT"]);
const TOO_MANY_REQUESTS = 429;
const API_PATH = "/api/v1";
/** Printable ASCII: other characters are not allowed in a header. A space would end the key. */
const KEY = /^kapi\.[!-~]+$/;
/** The options that give a base address: the accepted schemes, and an example for error texts. */
const ADDRESSES = {
  baseUrl: { schemes: /^https?:$/, example: "https://api.example.com" },
  liveUrl: { schemes: /^(ws|http)s?:$/, example: "wss://live.example.com" },
};

/** The address of the API, the management key, and the limits of each request. */
export interface TransportOptions {
  /** Management key, `kapi.<key_id>.<secret>`. White space around it is ignored. */
  readonly key: string;
  /** Base address of the API, such as `https://api.example.com`. */
  readonly baseUrl: string;
  /** Default: at most 8 attempts. The last one starts within 60 s after the first one. */
  readonly retry?: RetryOptions | undefined;
  /** Deadline of each attempt, in milliseconds. Default 30,000. */
  readonly timeoutMs?: number | undefined;
  /** Replaces the global `fetch`, for example in tests. */
  readonly fetch?: typeof fetch | undefined;
  /**
   * An abort ends all running requests, and every later request fails. Live streams continue until
   * their `close()` is called.
   */
  readonly signal?: AbortSignal | undefined;
}

/** Values of a query string; undefined values are left out. */
export type Query = Readonly<Record<string, string | number | Date | readonly string[] | undefined>>;

/** One request. Its attempts all have the same body and the same idempotency key. */
export interface RequestOptions {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Path below the base address, with encoded segments: see {@link pathOf}. */
  readonly path: string;
  /** A function is called before each attempt. */
  readonly query?: Query | (() => Query) | undefined;
  /** Is sent as JSON; undefined: no body. Amounts of money are decimal strings here. */
  readonly body?: unknown;
  readonly idempotencyKey?: string | undefined;
  /**
   * Whether the request may be sent again after an unknown outcome. Default: true, except for a
   * POST without an idempotency key.
   */
  readonly repeatable?: boolean | undefined;
  /** Deadline of each attempt, in milliseconds. Default: `timeoutMs` of the client. */
  readonly timeoutMs?: number | undefined;
  /**
   * Deadline of the request, as a time of `performance.now()`: no retry starts after it, and the
   * last attempt ends within a second after it.
   */
  readonly deadlineMs?: number | undefined;
  /** An abort ends the running attempt, or the wait before a retry. No attempt follows. */
  readonly signal?: AbortSignal | undefined;
}

/** An answer with a status below 300. */
export interface Answer<T> {
  readonly status: number;
  readonly body: T;
  readonly requestId: string;
  readonly creditsCharged: number;
  /** Credits in the wallet of the organization; null if kapi did not read the wallet. */
  readonly creditsRemaining: number | null;
}

/** Sends all requests of one `Kapi`. Any number of calls may use a transport at the same time. */
export class Transport {
  readonly baseUrl: string;
  readonly authorization: string;
  readonly #retry: RetryPolicy;
  readonly #timeoutMs: number;
  readonly #fetch: typeof fetch;
  readonly #signal: AbortSignal | undefined;

  constructor(options: TransportOptions) {
    this.authorization = `Management ${parseKey(options.key)}`;
    this.baseUrl = parseAddress("baseUrl", options.baseUrl);
    this.#retry = new RetryPolicy(options.retry);
    this.#timeoutMs = options.timeoutMs ?? DEFAULT_TIMEOUT_MS;
    this.#fetch = options.fetch ?? fetch;
    this.#signal = options.signal;
  }

  /**
   * Sends a request, with the same idempotency key in each attempt. The request is repeated after
   * 429, 5xx, a lost connection, a timeout, and a 2xx answer that is not JSON. A request that is
   * not `repeatable` is repeated only if it certainly had no effect.
   * @throws KapiError for an error answer, for no answer, or for a 2xx answer that is not JSON;
   * TypeError for an amount that is not a decimal string; the reason of an abort.
   */
  async request<T>(options: RequestOptions): Promise<Answer<T>> {
    const body = options.body === undefined ? undefined : formatRequest(options.body);
    const repeatable = options.repeatable ?? (options.method !== "POST" || options.idempotencyKey !== undefined);
    const isRetryable = (error: unknown): error is KapiError =>
      error instanceof KapiError && error.retryable && (repeatable || isCertainlyNotDone(error));
    const signals = [this.#signal, options.signal].filter((signal) => signal !== undefined);
    const signal = signals.length > 1 ? AbortSignal.any(signals) : signals[0];
    const attempt = (): Promise<Answer<T>> => this.#attempt<T>(body, { ...options, signal });
    return this.#retry.run(attempt, isRetryable, { signal, deadlineMs: options.deadlineMs });
  }

  async #attempt<T>(body: string | undefined, options: RequestOptions): Promise<Answer<T>> {
    options.signal?.throwIfAborted();
    const { path, query, deadlineMs = Infinity, timeoutMs = this.#timeoutMs } = options;
    const url = `${this.baseUrl}${path}${queryText(typeof query === "function" ? query() : query)}`;
    const requestId = randomUUID();
    const leftMs = Math.max(0, deadlineMs - performance.now()) + LAST_ANSWER_MS;
    const deadline = AbortSignal.timeout(Math.floor(Math.min(timeoutMs, leftMs)));
    const signal = options.signal === undefined ? deadline : AbortSignal.any([options.signal, deadline]);
    let response: Response;
    let text: string;
    try {
      response = await this.#fetch(url, {
        method: options.method,
        headers: this.#headers(options, requestId, body !== undefined),
        ...(body === undefined ? {} : { body }),
        redirect: "error",
        signal,
      });
      text = await response.text();
    } catch (error) {
      // An abort by the caller is not a failure of the connection.
      options.signal?.throwIfAborted();
      throw connectionError(error, url, requestId);
    }
    if (!response.ok) throw errorOf(response, text, requestId);
    return answerOf<T>(response, parsed(text, response, requestId), requestId);
  }

  #headers({ idempotencyKey }: RequestOptions, requestId: string, hasBody: boolean): Record<string, string> {
    return {
      accept: "application/json",
      authorization: this.authorization,
      "user-agent": `kapi-client/${VERSION} node/${process.versions.node}`,
      "x-request-id": requestId,
      ...(idempotencyKey === undefined ? {} : { "idempotency-key": idempotencyKey }),
      ...(hasBody ? { "content-type": "application/json" } : {}),
    };
  }
}

/** Returns the path of the management API with these segments, each of them encoded. */
export function pathOf(...segments: readonly string[]): string {
  return `/api/v1/management/${segments.map(encodeURIComponent).join("/")}`;
}

function queryText(query: Query = {}): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) parameters.set(name, value instanceof Date ? value.toISOString() : String(value));
  }
  return parameters.size === 0 ? "" : `?${parameters.toString()}`;
}

function answerOf<T>({ status, headers }: Response, body: unknown, requestId: string): Answer<T> {
  const remaining = headers.get("x-credits-remaining");
  return {
    status,
    body: body as T,
    requestId: headers.get("x-request-id") ?? requestId,
    creditsCharged: Number(headers.get("x-credits-charged") ?? 0),
    creditsRemaining: remaining === null ? null : Number(remaining),
  };
}

/**
 * Parses the body of an answer. @throws ConnectionError for a text that is not JSON: then a program
 * between kapi and the client has answered.
 */
function parsed(text: string, { status }: Response, requestId: string): unknown {
  try {
    return parseAnswer(text);
  } catch (cause) {
    const message = `the answer with status ${status} is not JSON`;
    throw new ConnectionError(message, { status, code: "INVALID_ANSWER", requestId, retryable: true, cause });
  }
}

function errorOf(response: Response, text: string, sentRequestId: string): KapiError {
  const { error, issues, code } = parseErrorBody(text);
  const retryAfter = response.headers.get("retry-after");
  return errorOfStatus(response.status, error ?? `HTTP status ${response.status}`, {
    code: code ?? response.headers.get("x-error-code") ?? `HTTP_${response.status}`,
    requestId: response.headers.get("x-request-id") ?? sentRequestId,
    issues,
    retryable: response.status === TOO_MANY_REQUESTS || response.status >= 500,
    creditsCharged: Number(response.headers.get("x-credits-charged") ?? 0),
    retryAfterS: retryAfter === null || Number.isNaN(Number(retryAfter)) ? null : Number(retryAfter),
  });
}

function connectionError(cause: unknown, url: string, requestId: string): ConnectionError {
  const { code, detail } = connectionFailure(cause);
  const reason = `no answer from ${new URL(url).origin}${detail && `: ${detail}`}`;
  return new ConnectionError(reason, { status: null, code, requestId, retryable: true, cause });
}

/**
 * The code and the text of a failed connection. The text is empty if connections to several
 * addresses of one host failed.
 */
export function connectionFailure(error: unknown): { readonly code: string; readonly detail: string } {
  if (!(error instanceof Error)) return { code: "CONNECTION_FAILED", detail: String(error) };
  if (error.name === "TimeoutError") return { code: "TIMEOUT", detail: error.message };
  // The error of `fetch` says only "fetch failed". The reason is in its cause.
  const cause = error.cause instanceof Error ? error.cause : error;
  const { code } = cause as { code?: unknown };
  return { code: typeof code === "string" ? code : "CONNECTION_FAILED", detail: cause.message };
}

/**
 * Whether the request certainly had no effect. Then even a request without an idempotency key may
 * be repeated.
 */
function isCertainlyNotDone({ status, code }: KapiError): boolean {
  return status === TOO_MANY_REQUESTS || NOTHING_SENT.has(code);
}

/**
 * Returns the key without white space around it, which a file or a variable often has.
 * @throws TypeError that names the option and not its value, which is a secret.
 */
function parseKey(value: string): string {
  const key = value.trim();
  if (KEY.test(key)) return key;
  throw new TypeError(
    "key must be a management key: kapi.<key_id>.<secret>, in printable ASCII characters without spaces",
  );
}

/**
 * Returns the base address that an option of the client gives, without a slash at its end.
 * @throws TypeError that names the option.
 */
export function parseAddress(option: keyof typeof ADDRESSES, value: string): string {
  const { schemes, example } = ADDRESSES[option];
  const address = URL.canParse(value) ? new URL(value) : null;
  if (address === null || !schemes.test(address.protocol)) {
    throw new TypeError(`${option} must be an address such as ${example}: "${value}"`);
  }
  // `fetch` rejects an address with a user name or a password.
  if (address.username !== "" || address.password !== "") {
    address.username = "";
    address.password = "";
    throw new TypeError(`${option} must be an address without user name and password: use "${address.href}"`);
  }
  if (address.pathname.includes(API_PATH)) {
    throw new TypeError(`${option} must be an address without ${API_PATH}, which the client adds: "${value}"`);
  }
  // The client adds a path at the end.
  if (/[?#]/.test(address.href)) {
    throw new TypeError(`${option} must be an address without query and fragment (? and #): "${value}"`);
  }
  return address.href.replace(/\/$/, "");
}
