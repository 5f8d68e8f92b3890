/**
 * Fills gaps: an account that misses events gets them from the history of the trading server. Gaps
 * are stored as rows, so that no gap is lost. A gap that is given to `fill` is filled at once if
 * fewer than {@link MAX_FILLS} fills are running. Every other gap is filled after it is due.
 * Accounts without a gap do not wait.
 */
import { type Logger, observed, type Started } from "@kapi/runtime";
import { accountKey, type AccountRef } from "@kapi/contracts";
import { backOffMs, repeat, type StartedRepetition } from "@kapi/kernel";

import type { EventHistory, GapRepository } from "./account-feed.ts";
import type { BookingQueue } from "./booking-queue.ts";

/** Maximum number of accounts whose gaps are filled at the same time. */
const MAX_FILLS = 8;
/** Maximum number of events per request. */
const PAGE_EVENTS = 500;
/** How often the rows are read for due gaps. */
const POLL_INTERVAL_MS = 1_000;
/** Gaps are counted up to this number. */
const MAX_COUNTED = 100_000;

/** Where gaps are stored, where missing events come from, and the queue that books them. */
interface GapFillerOptions {
  readonly gaps: GapRepository;
  readonly history: EventHistory;
  readonly queue: Pick<BookingQueue, "book" | "forget">;
  readonly logger: Logger;
}

/**
 * Books the missing events of accounts. The caller only reports new gaps: due gaps are found by
 * polling.
 */
interface GapFiller {
  /** Fills the new gaps of these accounts. */
  fill(accounts: readonly AccountRef[]): void;
}

/** Starts the gap filler. `stop` waits for running fills. */
export function startGapFiller(options: GapFillerOptions): Started<GapFiller> {
  const filler = new Filler(options);
  return { value: filler, stop: () => filler.stop() };
}

class Filler implements GapFiller {
  readonly #options: GapFillerOptions;
  readonly #running = new Map<string, Promise<void>>();
  readonly #polling: StartedRepetition;
  /** Whether more gaps are possibly due than the last read returned. */
  #moreMayBeDue = false;
  #stopped = false;
  readonly #endCount: () => void;

  constructor(options: GapFillerOptions) {
    this.#options = options;
    this.#endCount = observed(
      "trading_events.gaps",
      "Accounts whose next events cannot be booked now, for example because an earlier event is missing",
      "{account}",
      async () => [{ value: await options.gaps.count(MAX_COUNTED) }],
    );
    this.#polling = repeat({
      name: "gaps of the event feed",
      round: () => this.#fillDue(),
      pauseMs: POLL_INTERVAL_MS,
      firstPauseMs: POLL_INTERVAL_MS,
      // Failures do not make the pause longer: accounts wait for their missing events.
      backOff: { firstMs: POLL_INTERVAL_MS },
      logger: options.logger,
    });
  }

  fill(accounts: readonly AccountRef[]): void {
    for (const account of accounts) {
      // Above the limit the row waits for the next read of due gaps.
      if (this.#stopped || this.#running.size >= MAX_FILLS) return;
      const key = accountKey(account.serverId, account.accountNumber);
      if (this.#running.has(key)) continue;
      this.#running.set(
        key,
        this.#fillOne(account).finally(() => this.#ended(key)),
      );
    }
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#endCount();
    await this.#polling.stop();
    await Promise.all(this.#running.values());
  }

  async #fillDue(): Promise<void> {
    if (this.#running.size >= MAX_FILLS) return;
    // Due gaps can include gaps that are being filled now. Those are fewer than MAX_FILLS, so of
    // MAX_FILLS due gaps at least one can start.
    const due = await this.#options.gaps.due(MAX_FILLS);
    this.#moreMayBeDue = due.length === MAX_FILLS;
    this.fill(due);
  }

  /**
   * After the last running fill, reads the due gaps at once if there may be more of them than the
   * last read returned.
   */
  #ended(key: string): void {
    this.#running.delete(key);
    if (!this.#moreMayBeDue || this.#stopped || this.#running.size > 0) return;
    this.#moreMayBeDue = false;
    this.#polling.value.wake();
  }

  async #fillOne(account: AccountRef): Promise<void> {
    const { gaps, logger } = this.#options;
    try {
      for (let bookedBefore = -1; ;) {
        const gap = await gaps.find(account);
        if (gap === null || this.#stopped) return;
        if (gap.bookedSequence >= gap.neededSequence) {
          await gaps.close(account);
          continue;
        }
        // The database shows whether the last page made progress.
        if (gap.bookedSequence === bookedBefore) {
          logger.warn({ ...gap }, "a gap in the events of an account cannot be filled yet");
          return await gaps.postpone(account, backOffMs(gap.attempts + 1, Math.random));
        }
        bookedBefore = gap.bookedSequence;
        await bookNextPage(this.#options, account, gap.bookedSequence);
      }
    } catch (error) {
      logger.warn({ err: error, ...account }, "filling a gap in the events of an account failed; it is retried later");
      await this.#postpone(account);
    }
  }

  async #postpone(account: AccountRef): Promise<void> {
    const { gaps, logger } = this.#options;
    try {
      const gap = await gaps.find(account);
      if (gap !== null) await gaps.postpone(account, backOffMs(gap.attempts + 1, Math.random));
    } catch (error) {
      logger.warn({ err: error, ...account }, "the retry of a gap could not be postponed");
    }
  }
}

/** Books the next page of history after `bookedSequence`. */
export async function bookNextPage(
  { history, queue }: Pick<GapFillerOptions, "history" | "queue">,
  account: AccountRef,
  bookedSequence: number,
): Promise<void> {
  const events = await history.since(account, bookedSequence, PAGE_EVENTS);
  queue.forget(account);
  await Promise.all(events.map((event) => queue.book(event)));
}
