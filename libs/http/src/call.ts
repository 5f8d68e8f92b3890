import type { IncomingHttpHeaders } from "node:http";

import type { Dispatcher } from "undici";

import { ApiError } from "./api-error.ts";
import { DependencyError } from "./dependency-error.ts";

/** A response whose body is the bytes that were received. */
export interface InternalResponse {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

/**
 * One call. Its deadline covers waiting for a connection, sending, and reading the whole response.
 * It uses undici's dispatcher directly, so a call needs neither a stream nor an AbortController.
 */
export class Call implements Dispatcher.DispatchHandler {
  readonly response: Promise<InternalResponse>;
  /** Called once, when the connection is free for the next call. */
  onFinished: (() => void) | null = null;
  readonly #what: string;
  readonly #maxBytes: number;
  readonly #resolve: (response: InternalResponse) => void;
  readonly #reject: (error: DependencyError | ApiError) => void;
  readonly #timer: NodeJS.Timeout;
  readonly #chunks: Buffer[] = [];
  #controller: Dispatcher.DispatchController | null = null;
  #settled = false;
  #length = 0;
  #status = 0;
  #headers: IncomingHttpHeaders = {};

  /** `onLate` is called if a request was sent, and its whole response did not come in time. */
  constructor(what: string, options: { timeoutMs: number; maxBytes: number; onLate?: () => void }) {
    this.#what = what;
    this.#maxBytes = options.maxBytes;
    const { promise, resolve, reject } = Promise.withResolvers<InternalResponse>();
    this.response = promise;
    this.#resolve = resolve;
    this.#reject = reject;
    this.#timer = setTimeout(() => {
      this.fail(new Error(`no answer within ${options.timeoutMs} ms`));
      // A call that never got a connection does not show that a connection is dead.
      if (this.#controller !== null) options.onLate?.();
    }, options.timeoutMs);
  }

  /** Whether `response` is resolved or rejected. */
  get settled(): boolean {
    return this.#settled;
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#settled) controller.abort(new Error(`${this.#what}: the call was cancelled`));
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    this.#status = status;
    this.#headers = headers;
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#length += chunk.length;
    if (this.#length > this.#maxBytes) this.fail(new Error(`the answer is larger than ${this.#maxBytes} bytes`));
    else this.#chunks.push(chunk);
  }

  onResponseEnd(): void {
    clearTimeout(this.#timer);
    this.#settled = true;
    const [first] = this.#chunks;
    const body = this.#chunks.length === 1 && first !== undefined ? first : Buffer.concat(this.#chunks, this.#length);
    this.#resolve({ status: this.#status, headers: this.#headers, body });
    this.finish();
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.fail(error);
    this.finish();
  }

  /**
   * Fails the call, and aborts it at the other side if it was sent. `response` rejects with `cause`
   * if that is an ApiError, else with a DependencyError. Does nothing if the call is settled.
   */
  fail(cause: Error): void {
    if (this.#settled) return;
    this.#settled = true;
    clearTimeout(this.#timer);
    this.#reject(cause instanceof ApiError ? cause : new DependencyError(`${this.#what}: ${cause.message}`, { cause }));
    this.#controller?.abort(cause);
  }

  /** Reports once that the connection is free. */
  finish(): void {
    const { onFinished } = this;
    this.onFinished = null;
    onFinished?.();
  }
}
