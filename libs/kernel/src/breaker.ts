import { backOffMs, MAX_RETRY_MS } from "./back-off.ts";
import type { Clock } from "./clock.ts";

/** Unanswered calls in a row that open a server's breaker. */
export const BREAKER_FAILURES = 3;

/**
 * The breaker of one server, such as a trading server: after some unanswered calls in a row it is
 * asked nothing, and after a pause one call at a time probes whether it is back. Other servers
 * never notice.
 */
export class Breaker {
  readonly #clock: Clock;
  readonly #random: () => number;
  #failures = 0;
  #openings = 0;
  #openUntilMs = 0;
  #probing = false;

  constructor(clock: Clock, random: () => number) {
    this.#clock = clock;
    this.#random = random;
  }

  get open(): boolean {
    return this.#failures >= BREAKER_FAILURES;
  }

  /** Whether a probe is under way. */
  get probing(): boolean {
    return this.#probing;
  }

  /** How many calls may be sent now: all, one (a probe), or none. */
  allowance(): number {
    if (!this.open) return Number.POSITIVE_INFINITY;
    return this.#probing || this.waitMs() > 0 ? 0 : 1;
  }

  /** Milliseconds until a probe is allowed; 0 where nothing has to be waited for. */
  waitMs(): number {
    const leftMs = this.open ? Math.max(0, this.#openUntilMs - this.#clock.nowMs()) : 0;
    // More than a pause can be is left where the clock was set back.
    return leftMs > MAX_RETRY_MS ? 0 : leftMs;
  }

  /** A call goes out. */
  sent(): void {
    if (this.open) this.#probing = true;
  }

  /** The server answered. */
  answered(): void {
    this.#failures = 0;
    this.#openings = 0;
    this.#probing = false;
  }

  /** The server gave no clear answer. Returns true where this opened the breaker. */
  failed(): boolean {
    const wasOpen = this.open;
    this.#failures += 1;
    // A call that was under way when the breaker opened says nothing new.
    if (!this.open || (wasOpen && !this.#probing)) return false;
    this.#probing = false;
    this.#openings += 1;
    this.#openUntilMs = this.#clock.nowMs() + backOffMs(this.#openings, this.#random);
    return !wasOpen;
  }

  /** The call ended without having asked the server. */
  unused(): void {
    this.#probing = false;
  }
}
