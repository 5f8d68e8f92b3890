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
  /** Number of calls that were sent. */
  #sent = 0;
  /** The call that is the running probe; null without one. */
  #probe: number | null = null;

  constructor(clock: Clock, random: () => number) {
    this.#clock = clock;
    this.#random = random;
  }

  get open(): boolean {
    return this.#failures >= BREAKER_FAILURES;
  }

  /** Whether a probe is running. */
  get probing(): boolean {
    return this.#probe !== null;
  }

  /** How many calls may be sent now: all, one (a probe), or none. */
  allowance(): number {
    if (!this.open) return Number.POSITIVE_INFINITY;
    return this.probing || this.waitMs() > 0 ? 0 : 1;
  }

  /** Milliseconds until the pause is over; 0 without a pause. */
  waitMs(): number {
    const leftMs = this.open ? Math.max(0, this.#openUntilMs - this.#clock.nowMs()) : 0;
    // A wait above the longest pause means that the clock was set back.
    return leftMs > MAX_RETRY_MS ? 0 : leftMs;
  }

  /** A call is sent. Returns its number, for {@link failed} and {@link unused}. */
  sent(): number {
    this.#sent += 1;
    if (this.open) this.#probe = this.#sent;
    return this.#sent;
  }

  /** The server answered. */
  answered(): void {
    this.#failures = 0;
    this.#openings = 0;
    this.#probe = null;
  }

  /** The server did not answer this call. Returns whether this failure opened the breaker. */
  failed(call: number): boolean {
    const wasOpen = this.open;
    this.#failures += 1;
    // While the breaker is open, only the probe adds information: all other calls are older.
    if (!this.open || (wasOpen && call !== this.#probe)) return false;
    this.#probe = null;
    this.#openings += 1;
    this.#openUntilMs = this.#clock.nowMs() + backOffMs(this.#openings, this.#random);
    return !wasOpen;
  }

  /** The call ended without reaching the server. */
  unused(call: number): void {
    if (call === this.#probe) this.#probe = null;
  }
}
