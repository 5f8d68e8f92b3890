import type { OutgoingHttpHeaders, ServerResponse } from "node:http";

import { type AccountMetricsFrame, LIVE_EVENTS, type LiveEnd } from "@kapi/contracts";

import type { LiveSink } from "../../operations/live-accounts.ts";

/** Interval of comments: without them, a proxy or a browser would consider the stream dead. */
const COMMENT_INTERVAL_MS = 15_000;
const COMMENT = ":\n\n";
const OK = 200;

/**
 * A stream of server-sent events. While the connection is full, only the newest sample is kept: a
 * slow browser costs little memory, and continues with the newest sample.
 */
export class EventStream implements LiveSink {
  readonly #response: ServerResponse;
  #waiting: AccountMetricsFrame | null = null;
  #isFull = false;

  constructor(response: ServerResponse) {
    this.#response = response;
  }

  /**
   * Begins the answer. Calls `onClosed` when the connection closes, also after `end`; immediately
   * if the connection is already closed.
   */
  begin(headers: OutgoingHttpHeaders, onClosed: () => void): void {
    if (this.#isClosed()) return onClosed();
    const timer = setInterval(() => this.#write(COMMENT), COMMENT_INTERVAL_MS);
    this.#response.on("drain", () => this.#drained());
    this.#response.once("close", () => {
      clearInterval(timer);
      onClosed();
    });
    this.#response.writeHead(OK, { ...headers, "content-type": "text/event-stream", "x-accel-buffering": "no" });
    this.#write(COMMENT);
  }

  sample(frame: AccountMetricsFrame): void {
    if (this.#isFull) this.#waiting = frame;
    else this.#write(eventOf(LIVE_EVENTS.sample, frame));
  }

  end(reason: LiveEnd["reason"]): void {
    if (!this.#isClosed()) this.#response.end(eventOf(LIVE_EVENTS.end, { reason }));
  }

  #isClosed(): boolean {
    return this.#response.destroyed || this.#response.writableEnded;
  }

  #drained(): void {
    this.#isFull = false;
    const frame = this.#waiting;
    this.#waiting = null;
    if (frame !== null) this.sample(frame);
  }

  #write(text: string): void {
    if (!this.#isFull && !this.#isClosed()) this.#isFull = !this.#response.write(text);
  }
}

function eventOf(name: string, data: AccountMetricsFrame | LiveEnd): string {
  return `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
}
