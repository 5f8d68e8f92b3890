import type { Dispatcher } from "undici";

import type { Call } from "./call.ts";

interface Waiting {
  readonly options: Dispatcher.DispatchOptions;
  readonly call: Call;
}

/**
 * Sends at most `maxRunning` calls at once; the others wait here in order, `maxWaiting` at most. A call whose deadline
 * passed while it waited is never sent: undici's own queue would send it, and close a connection to take it back.
 */
export class CallQueue {
  readonly #dispatcher: () => Dispatcher;
  readonly #maxRunning: number;
  readonly #maxWaiting: number;
  readonly #waiting: Waiting[] = [];
  #running = 0;

  constructor(dispatcher: () => Dispatcher, limits: { maxRunning: number; maxWaiting: number }) {
    this.#dispatcher = dispatcher;
    this.#maxRunning = limits.maxRunning;
    this.#maxWaiting = limits.maxWaiting;
  }

  /** Sends the call now or when its turn comes; a call too many fails at once. The outcome is the call's `response`. */
  send(options: Dispatcher.DispatchOptions, call: Call): void {
    if (this.#running < this.#maxRunning) this.#run(options, call);
    else if (this.#waiting.length < this.#maxWaiting) this.#waiting.push({ options, call });
    else call.fail(new Error(`${this.#maxWaiting} calls are waiting already`));
  }

  #run(options: Dispatcher.DispatchOptions, call: Call): void {
    this.#running += 1;
    call.onFinished = (): void => {
      this.#running -= 1;
      this.#runNext();
    };
    try {
      this.#dispatcher().dispatch(options, call);
    } catch (error) {
      call.fail(error instanceof Error ? error : new Error(String(error)));
      call.finish();
    }
  }

  #runNext(): void {
    while (this.#running < this.#maxRunning) {
      const next = this.#waiting.shift();
      if (next === undefined) return;
      if (!next.call.settled) this.#run(next.options, next.call);
    }
  }
}
