/**
 * An HTTP client that sends exactly the given request, even an invalid request. The client does not
 * check the response, but throws if the body is not JSON.
 */

/** Values for the placeholders of a path. */
export interface Target {
  readonly serverId: string;
  readonly accountNumber: string;
  readonly commandId: string;
  readonly breachId: string;
  readonly templateName: string;
}

export interface SendOptions {
  /** Sent as JSON. */
  readonly body?: unknown;
  /** The text of the body, sent instead of `body`. */
  readonly raw?: string;
  readonly contentType?: string;
  readonly idempotencyKey?: string;
  /** Null sends no `Authorization` header. */
  readonly authorization?: string | null;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The text, parsed as JSON. */
  readonly body: unknown;
  /** `X-Credits-Charged`; NaN without the header. */
  readonly charged: number;
  /** `X-Credits-Remaining`; NaN without the header. */
  readonly remaining: number;
}

const DEADLINE_MS = 40_000;

/** Sends requests with one management key, unless a request has the option `authorization`. */
export class Caller {
  readonly managementKey: string;
  readonly #baseUrl: string;

  constructor(baseUrl: string, managementKey: string) {
    this.#baseUrl = baseUrl;
    this.managementKey = managementKey;
  }

  async send(method: string, path: string, options: SendOptions = {}): Promise<Answer> {
    const { authorization = `Management ${this.managementKey}` } = options;
    const headers = new Headers(options.headers);
    if (authorization !== null) headers.set("authorization", authorization);
    const payload = options.raw ?? (options.body === undefined ? null : JSON.stringify(options.body));
    if (payload !== null) headers.set("content-type", options.contentType ?? "application/json");
    if (options.idempotencyKey !== undefined) headers.set("idempotency-key", options.idempotencyKey);
    const response = await fetch(this.#baseUrl + path, {
      method,
      headers,
      body: payload,
      signal: AbortSignal.timeout(DEADLINE_MS),
    });
    const text = await response.text();
    return {
      status: response.status,
      headers: response.headers,
      text,
      body: JSON.parse(text) as unknown,
      charged: Number(response.headers.get("x-credits-charged") ?? "missing"),
      remaining: Number(response.headers.get("x-credits-remaining") ?? "missing"),
    };
  }
}
