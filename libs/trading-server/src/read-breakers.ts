import { ApiError } from "@kapi/http";
import { Breaker, BREAKER_FAILURES, type Clock } from "@kapi/kernel";

import { TradingServerUnreachable } from "./unreachable.ts";

/**
 * Rejects reads of a trading server at once after several unanswered reads, so that they occupy no
 * connections. After a pause, one read at a time probes the server (back-off 1-2-4-8-16 s).
 * Commands have their own breaker for changes.
 */
export class ReadBreakers {
  readonly #clock: Clock;
  /** By server id. A server whose last read succeeded has no breaker. */
  readonly #breakers = new Map<string, Breaker>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Returns the result of `read`, or rejects with its error. Every error but an ApiError counts as
   * unanswered.
   * @throws TradingServerUnreachable without calling `read` while the server's breaker allows no
   * read.
   */
  async run<T>(serverId: string, read: () => Promise<T>): Promise<T> {
    const breaker = this.#of(serverId);
    if (breaker.allowance() === 0) {
      const text = `trading server ${serverId}: read skipped, because the last ${BREAKER_FAILURES} reads got no answer`;
      throw new TradingServerUnreachable(text);
    }
    const call = breaker.sent();
    try {
      const result = await read();
      breaker.answered();
      if (this.#breakers.get(serverId) === breaker) this.#breakers.delete(serverId);
      return result;
    } catch (error) {
      // A read above its organization's share did not reach the server.
      if (error instanceof ApiError) breaker.unused(call);
      else breaker.failed(call);
      throw error;
    }
  }

  #of(serverId: string): Breaker {
    const known = this.#breakers.get(serverId);
    if (known !== undefined) return known;
    const breaker = new Breaker(this.#clock, Math.random);
    this.#breakers.set(serverId, breaker);
    return breaker;
  }
}
