import { backOffMs, MAX_RETRY_MS } from "./back-off.ts";
import type { Clock } from "./clock.ts";

/** Number of consecutive unanswered calls that open a server's breaker. */
export const BREAKER_FAILURES = 3;

/**
 * The breaker of one server, such as a trading server. After {@link BREAKER_FAILURES} consecutive
 * unanswered calls it allows no call. After a pause it allows one call at a time, as a probe.
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

  /** Whether a probe is running. */
  get probing(): boolean {
    return this.#probing;
  }

  /** How many calls may be sent now: all, one (a probe), or none. */
  allowance(): number {
    if (!this.open) return Number.POSITIVE_INFINITY;
    return this.#probing || this.waitMs() > 0 ? 0 : 1;
  }

  /** Milliseconds until the pause is over; 0 without a pause. */
  waitMs(): number {
    const leftMs = this.open ? Math.max(0, this.#openUntilMs - this.#clock.nowMs()) : 0;
    // A wait above the longest pause means that the clock was set back.
    return leftMs > MAX_RETRY_MS ? 0 : leftMs;
  }

  /** A call is sent. */
  sent(): void {
    if (this.open) this.#probing = true;
  }

  /** The server answered. */
  answered(): void {
    this.#failures = 0;
    this.#openings = 0;
    this.#probing = false;
  }

  /** The server did not answer. Returns whether this failure opened the breaker. */
  failed(): boolean {
    const wasOpen = this.open;
    this.#failures += 1;
    // A call that was sent before the breaker opened adds no information.
    if (!this.open || (wasOpen && !this.#probing)) return false;
    this.#probing = false;
    this.#openings += 1;
    this.#openUntilMs = this.#clock.nowMs() + backOffMs(this.#openings, this.#random);
    return !wasOpen;
  }

  /** The call ended without reaching the server. */
  unused(): void {
    this.#probing = false;
  }
}
