import { delay } from "./clock.ts";

/** The callers that wait for background work. While a caller waits, the work does not pause. */
export class Urgency {
  #callers = 0;
  #begun = new AbortController();

  /** A caller begins to wait. The returned function ends this wait. */
  begin(): () => void {
    this.#callers += 1;
    this.#begun.abort();
    let hasEnded = false;
    return () => {
      if (hasEnded) return;
      hasEnded = true;
      this.#callers -= 1;
      if (this.#callers === 0) this.#begun = new AbortController();
    };
  }

  /** Resolves after `ms` milliseconds, or as soon as a caller waits. */
  pause(ms: number): Promise<void> {
    return delay(ms, this.#begun.signal);
  }
}
