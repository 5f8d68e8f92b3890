/**
 * Requests to the console's own routes. The session is a cookie that scripts cannot read; this
 * client keeps the CSRF token and sends it with every request except GET.
 */
import { asFailure, failureOf, UNAUTHORIZED } from "./failure.ts";

const BASE = "/console/api";
const DEADLINE_MS = 20_000;
/** Maximum time without a byte of a streamed file. */
const STREAM_IDLE_MS = 30_000;
const NO_CONTENT = 204;
const LINE_FEED = 0x0a;
const QUOTE = 0x22;

/** Called with the number of rows received so far, and of all rows if the server knows it. */
export type DownloadProgress = (rows: number, total: number | null) => void;

/** How a request differs from a GET without a body. */
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
  /** Reads that began before their page was shown, by path. */
  readonly #begun = new Map<string, Promise<Response>>();
  #csrfToken = "";
  #sessionEnded: () => void = () => undefined;

  /** Sets the CSRF token of the current session. */
  useToken(csrfToken: string): void {
    this.#csrfToken = csrfToken;
  }

  /** Sets the function that is called when the session has ended. */
  onSessionEnded(listener: () => void): void {
    this.#sessionEnded = listener;
  }

  /**
   * Begins a read before the session is known, so that the page is shown earlier. The next GET of
   * this path uses the response, if it was a success. A request other than GET, such as a sign-in,
   * discards all begun reads.
   */
  begin(path: string): void {
    const response = fetch(BASE + path, { signal: AbortSignal.timeout(DEADLINE_MS) });
    response.catch(() => undefined);
    this.#begun.set(path, response);
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

  /**
   * Returns a CSV file that the server streams. The first row has the column names, and `progress`
   * does not count it. Throws a {@link Failure} on any error, also in the middle of the file, and
   * if no byte arrives for 30 s.
   */
  async download(path: string, signal: AbortSignal, progress: DownloadProgress): Promise<Blob> {
    const idle = new AbortController();
    const abort = (): void => idle.abort(new DOMException("no data", "TimeoutError"));
    let timer = setTimeout(abort, STREAM_IDLE_MS);
    try {
      const response = await fetch(BASE + path, { signal: AbortSignal.any([signal, idle.signal]) });
      if (!response.ok || response.body === null) {
        if (response.status === UNAUTHORIZED) this.#sessionEnded();
        throw await failureOf(response);
      }
      const total = response.headers.get("x-total-rows");
      const chunks: Uint8Array<ArrayBuffer>[] = [];
      let lines = 0;
      let isQuoted = false;
      const reader = response.body.getReader();
      for (let read = await reader.read(); !read.done; read = await reader.read()) {
        clearTimeout(timer);
        timer = setTimeout(abort, STREAM_IDLE_MS);
        chunks.push(read.value);
        for (const byte of read.value) {
          // A quote inside a quoted cell is doubled, so it changes `isQuoted` twice.
          if (byte === QUOTE) isQuoted = !isQuoted;
          else if (byte === LINE_FEED && !isQuoted) lines += 1;
        }
        progress(Math.max(lines - 1, 0), total === null ? null : Number(total));
      }
      return new Blob(chunks, { type: response.headers.get("content-type") ?? "text/csv" });
    } catch (error) {
      throw asFailure(error);
    } finally {
      clearTimeout(timer);
    }
  }

  async #takeBegun(method: string, path: string): Promise<Response | null> {
    const begun = this.#begun.get(path);
    this.#begun.delete(path);
    if (method !== "GET") this.#begun.clear();
    if (method !== "GET" || begun === undefined) return null;
    const response = await begun.catch(() => null);
    return response?.ok === true ? response : null;
  }

  async #send<T>(path: string, options: RequestOptions, read: (response: Response) => Promise<T>): Promise<T> {
    const { method = "GET", body, signal, unauthorizedIsAnswer = false } = options;
    const deadline = AbortSignal.timeout(DEADLINE_MS);
    try {
      const begun = await this.#takeBegun(method, path);
      const response =
        begun ??
        (await fetch(BASE + path, {
          method,
          headers: {
            ...(method === "GET" ? {} : { "x-csrf-token": this.#csrfToken }),
            ...(body === undefined ? {} : { "content-type": "application/json" }),
          },
          body: body === undefined ? null : JSON.stringify(body),
          signal: signal === undefined ? deadline : AbortSignal.any([signal, deadline]),
        }));
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
