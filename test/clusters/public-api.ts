/** A client of the public API. Every request has its own id and a deadline. */
import { randomUUID } from "node:crypto";

/** The client gives up after this time. Answers are due within 5 s. */
const REQUEST_TIMEOUT_MS = 15_000;

export interface Request {
  readonly method: string;
  /** Below `/api/v1/management`. */
  readonly path: string;
  readonly body?: object;
  /** The idempotency key. */
  readonly key?: string;
  /** The wait time that the request asks for; the client adds it to the deadline. */
  readonly waitMs?: number;
}

/** The outcome of one try. */
export interface Reply {
  readonly requestId: string;
  /** Null without an answer, or if the answer is not JSON. */
  readonly status: number | null;
  /**
   * `X-Error-Code`, or "" if the answer has none. `NO_ANSWER`: the deadline passed.
   * `CONNECTION_LOST`: the connection failed, or the answer is not JSON.
   */
  readonly code: string;
  readonly retryAfterMs: number | null;
  readonly tookMs: number;
  readonly body: unknown;
}

/** The public API of one organization, with its management key. */
export class PublicApi {
  readonly #base: string;
  readonly #managementKey: string;

  constructor(baseUrl: string, managementKey: string) {
    this.#base = `${baseUrl}/api/v1/management`;
    this.#managementKey = managementKey;
  }

  /** Never throws. Without an answer, or if it is not JSON, the reply has the status null. */
  async call({ method, path, body, key, waitMs = 0 }: Request): Promise<Reply> {
    const requestId = randomUUID();
    const headers: Record<string, string> = {
      authorization: `Management ${this.#managementKey}`,
      "x-request-id": requestId,
    };
    if (body !== undefined) headers["content-type"] = "application/json";
    if (key !== undefined) headers["idempotency-key"] = key;
    const beganMs = performance.now();
    try {
      const response = await fetch(this.#base + path, {
        method,
        headers,
        body: body === undefined ? null : JSON.stringify(body),
        signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS + waitMs),
      });
      const answer: unknown = await response.json();
      const retryAfter = response.headers.get("retry-after");
      return {
        requestId,
        status: response.status,
        code: response.headers.get("x-error-code") ?? "",
        retryAfterMs: retryAfter === null ? null : Number(retryAfter) * 1_000,
        tookMs: performance.now() - beganMs,
        body: answer,
      };
    } catch (error) {
      const code = (error as Error).name === "TimeoutError" ? "NO_ANSWER" : "CONNECTION_LOST";
      return { requestId, status: null, code, retryAfterMs: null, tookMs: performance.now() - beganMs, body: null };
    }
  }

  /** Returns the body of a 200 answer to a GET; throws for any other answer. */
  async get<T>(path: string): Promise<T> {
    const { status, code, body } = await this.call({ method: "GET", path });
    if (status !== 200) throw new Error(`GET ${path} was answered ${status ?? "nothing"} ${code}`);
    return body as T;
  }
}
