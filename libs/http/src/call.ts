import type { IncomingHttpHeaders } from "node:http";

import type { Dispatcher } from "undici";

import { DependencyError } from "./dependency-error.ts";

/** An answer as it came: its body is the bytes that were sent. */
export interface InternalResponse {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

/**
 * One call under one deadline that covers all of it: waiting for a connection, sending, and reading the answer to its end.
 * It speaks to undici's dispatcher directly: no stream and no AbortController are made per call.
 */
export class Call implements Dispatcher.DispatchHandler {
  readonly response: Promise<InternalResponse>;
  readonly #what: string;
  readonly #maxBytes: number;
  readonly #resolve: (response: InternalResponse) => void;
  readonly #reject: (error: DependencyError) => void;
  readonly #timer: NodeJS.Timeout;
  readonly #chunks: Buffer[] = [];
  #controller: Dispatcher.DispatchController | null = null;
  #ended: DependencyError | null = null;
  #length = 0;
  #status = 0;
  #headers: IncomingHttpHeaders = {};

  constructor(what: string, options: { timeoutMs: number; maxBytes: number }) {
    this.#what = what;
    this.#maxBytes = options.maxBytes;
    const { promise, resolve, reject } = Promise.withResolvers<InternalResponse>();
    this.response = promise;
    this.#resolve = resolve;
    this.#reject = reject;
    this.#timer = setTimeout(() => this.#end(`no answer within ${options.timeoutMs} ms`), options.timeoutMs);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#ended !== null) controller.abort(this.#ended);
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    this.#status = status;
    this.#headers = headers;
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#length += chunk.length;
    if (this.#length > this.#maxBytes) this.#end(`the answer is larger than ${this.#maxBytes} bytes`);
    else this.#chunks.push(chunk);
  }

  onResponseEnd(): void {
    clearTimeout(this.#timer);
    const [first] = this.#chunks;
    const body = this.#chunks.length === 1 && first !== undefined ? first : Buffer.concat(this.#chunks, this.#length);
    this.#resolve({ status: this.#status, headers: this.#headers, body });
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.fail(error);
  }

  /** Ends the call because of an error outside it, such as a pool that is closed. */
  fail(cause: Error): void {
    clearTimeout(this.#timer);
    this.#reject(new DependencyError(`${this.#what}: ${cause.message}`, { cause }));
  }

  #end(reason: string): void {
    if (this.#ended !== null) return;
    clearTimeout(this.#timer);
    this.#ended = new DependencyError(`${this.#what}: ${reason}`);
    this.#reject(this.#ended);
    this.#controller?.abort(this.#ended);
  }
}
