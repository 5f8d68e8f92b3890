import type { IncomingHttpHeaders } from "node:http";

import type { Dispatcher } from "undici";

import { ApiError } from "./api-error.ts";
import { DependencyError } from "./dependency-error.ts";

/** An answer as it came: its body is the bytes that were sent. */
export interface InternalResponse {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

/**
 * One call under one deadline that covers all of it: waiting for a connection, sending, and reading
 * the answer to its end. It speaks to undici's dispatcher directly: no stream and no
 * AbortController are made per call.
 */
export class Call implements Dispatcher.DispatchHandler {
  readonly response: Promise<InternalResponse>;
  /** Called once, when the connection is free for another call. */
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

  /** `onLate` is called when the deadline passes without an answer to a request that was sent. */
  constructor(what: string, options: { timeoutMs: number; maxBytes: number; onLate?: () => void }) {
    this.#what = what;
    this.#maxBytes = options.maxBytes;
    const { promise, resolve, reject } = Promise.withResolvers<InternalResponse>();
    this.response = promise;
    this.#resolve = resolve;
    this.#reject = reject;
    this.#timer = setTimeout(() => {
      this.fail(new Error(`no answer within ${options.timeoutMs} ms`));
      // A call that never got a connection says nothing about those that there are.
      if (this.#controller !== null) options.onLate?.();
    }, options.timeoutMs);
  }

  /** Whether the caller has its answer, or its error. */
  get settled(): boolean {
    return this.#settled;
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#settled) controller.abort(new Error(`${this.#what}: given up`));
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
   * Ends the call, at the other side too if it is under way: with `cause` where that is an
   * ApiError, else with a DependencyError. A call that has ended stays as it is.
   */
  fail(cause: Error): void {
    if (this.#settled) return;
    this.#settled = true;
    clearTimeout(this.#timer);
    this.#reject(cause instanceof ApiError ? cause : new DependencyError(`${this.#what}: ${cause.message}`, { cause }));
    this.#controller?.abort(cause);
  }

  /** Tells that the connection is free; only the first time counts. */
  finish(): void {
    const { onFinished } = this;
    this.onFinished = null;
    onFinished?.();
  }
}
