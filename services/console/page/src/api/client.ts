/**
 * Requests to the console's own routes. The session is a cookie that scripts cannot read; this
 * client keeps the CSRF token and sends it with every request except GET.
 */
import { asFailure, failureOf, UNAUTHORIZED } from "./failure.ts";

const BASE = "/console/api";
const DEADLINE_MS = 20_000;
const NO_CONTENT = 204;

export interface RequestOptions {
  readonly method?: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  readonly body?: unknown;
  /** Aborts the request. */
  readonly signal?: AbortSignal;
  /** Whether a 401 concerns the input, such as a password, and not the session. */
  readonly unauthorizedIsAnswer?: boolean;
}

/** Client of the console's routes; reports the end of the session. */
export class Client {
  #csrfToken = "";
  #sessionEnded: () => void = () => undefined;

  /** CSRF token of the current session. */
  useToken(csrfToken: string): void {
    this.#csrfToken = csrfToken;
  }

  /** Called when a request finds no session. */
  onSessionEnded(listener: () => void): void {
    this.#sessionEnded = listener;
  }

  /** Returns the JSON of the answer; undefined for 204. Throws a {@link Failure} on any error. */
  request<T>(path: string, options: RequestOptions = {}): Promise<T> {
    return this.#send(path, options, (response) =>
      response.status === NO_CONTENT ? Promise.resolve(undefined as T) : (response.json() as Promise<T>),
    );
  }

  /** Returns the exact bytes of the answer. Throws a {@link Failure} on any error. */
  bytes(path: string, signal: AbortSignal): Promise<Blob> {
    return this.#send(path, { signal }, (response) => response.blob());
  }

  async #send<T>(path: string, options: RequestOptions, read: (response: Response) => Promise<T>): Promise<T> {
    const { method = "GET", body, signal, unauthorizedIsAnswer = false } = options;
    const deadline = AbortSignal.timeout(DEADLINE_MS);
    try {
      const response = await fetch(BASE + path, {
        method,
        headers: {
          ...(method === "GET" ? {} : { "x-csrf-token": this.#csrfToken }),
          ...(body === undefined ? {} : { "content-type": "application/json" }),
        },
        body: body === undefined ? null : JSON.stringify(body),
        signal: signal === undefined ? deadline : AbortSignal.any([signal, deadline]),
      });
      if (!response.ok) {
        if (response.status === UNAUTHORIZED && !unauthorizedIsAnswer) this.#sessionEnded();
        throw await failureOf(response);
      }
      return await read(response);
    } catch (error) {
      throw asFailure(error);
    }
  }
}

/** The address of a stream of events, for an EventSource. */
export function streamAddress(path: string): string {
  return BASE + path;
}

/** A query string of the given fields, with its question mark; empty if no field has a value. */
export function queryOf(values: Readonly<Record<string, string | number | null | undefined>>): string {
  const given = Object.entries(values).filter(([, value]) => value !== undefined && value !== null && value !== "");
  const query = new URLSearchParams(given.map(([name, value]) => [name, String(value)]));
  return given.length === 0 ? "" : `?${query.toString()}`;
}
