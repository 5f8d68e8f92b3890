/**
 * Requests of this tab to the console's own routes. The session is a cookie that scripts cannot
 * read; what is kept here is the token that every change must carry besides it.
 */
import { asFailure, failureOf, UNAUTHORIZED } from "./failure.ts";

const BASE = "/console/api";
const DEADLINE_MS = 20_000;
const NO_CONTENT = 204;

export interface RequestOptions {
  readonly method?: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  readonly body?: unknown;
  /** Ends the request when nobody needs it any more. */
  readonly signal?: AbortSignal;
  /** A 401 is about what was sent, a password for instance, and not about the session. */
  readonly unauthorizedIsAnswer?: boolean;
}

/** Speaks to the console's routes, and tells when the session is over. */
export class Client {
  #csrfToken = "";
  #sessionEnded: () => void = () => undefined;

  /** The token of the session that requests are made in from now on. */
  useToken(csrfToken: string): void {
    this.#csrfToken = csrfToken;
  }

  /** `told` is called when a request finds that there is no session any more. */
  onSessionEnded(told: () => void): void {
    this.#sessionEnded = told;
  }

  /** The JSON of the answer; throws a {@link Failure} for any other end. */
  async request<T>(path: string, options: RequestOptions = {}): Promise<T> {
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
      return (response.status === NO_CONTENT ? undefined : await response.json()) as T;
    } catch (error) {
      throw asFailure(error);
    }
  }
}

/** The address of a stream of events, for an EventSource. */
export function streamAddress(path: string): string {
  return BASE + path;
}

/** A query string of what is there, with its question mark; empty for nothing. */
export function queryOf(values: Readonly<Record<string, string | number | null | undefined>>): string {
  const given = Object.entries(values).filter(([, value]) => value !== undefined && value !== null && value !== "");
  const query = new URLSearchParams(given.map(([name, value]) => [name, String(value)]));
  return given.length === 0 ? "" : `?${query.toString()}`;
}
