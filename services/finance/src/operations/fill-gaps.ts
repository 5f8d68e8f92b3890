/**
 * Closes gaps: an account of which an event came before its predecessors gets the missing ones from the trading
 * server's history. Gaps are rows, so none is forgotten; a new one is filled at once, the others when their next try is
 * due. The account's commands wait meanwhile; no other account does.
 */
import type { Logger, Started } from "@kapi/runtime";
import type { TradingEvent } from "@kapi/contracts";

import type { AccountName, Booking } from "../domain/ledger.ts";
import type { EventHistory, Gap, GapBook } from "../domain/ports.ts";

/** Accounts filled at once. */
const MAX_FILLS = 8;
/** Events asked for at a time. */
const PAGE_EVENTS = 500;
/** How often the rows are looked at for gaps that are due. */
const POLL_INTERVAL_MS = 1_000;
const FIRST_RETRY_MS = 1_000;
const MAX_RETRY_MS = 16_000;

export interface GapFillerOptions {
  readonly gaps: GapBook;
  readonly history: EventHistory;
  readonly book: (event: TradingEvent) => Promise<Booking>;
  readonly logger: Logger;
}

export interface GapFiller {
  /** Accounts that were just found to have a gap. */
  fill(accounts: readonly AccountName[]): void;
}

/** Starts the filler; `stop` waits for the fills under way. */
export function startGapFiller(options: GapFillerOptions): Started<GapFiller> {
  const filler = new Filler(options);
  return { value: filler, stop: () => filler.stop() };
}

class Filler implements GapFiller {
  readonly #options: GapFillerOptions;
  readonly #underWay = new Map<string, Promise<void>>();
  #timer: NodeJS.Timeout;
  #stopped = false;

  constructor(options: GapFillerOptions) {
    this.#options = options;
    this.#timer = setTimeout(() => void this.#poll(), POLL_INTERVAL_MS);
  }

  fill(accounts: readonly AccountName[]): void {
    for (const account of accounts) {
      // Above the limit the row waits for the next look at what is due.
      if (this.#stopped || this.#underWay.size >= MAX_FILLS) return;
      const key = `${account.serverId}/${account.accountNumber}`;
      if (this.#underWay.has(key)) continue;
      this.#underWay.set(
        key,
        this.#fillOne(account).finally(() => this.#underWay.delete(key)),
      );
    }
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    await Promise.all(this.#underWay.values());
  }

  async #poll(): Promise<void> {
    try {
      const free = MAX_FILLS - this.#underWay.size;
      if (free > 0) this.fill(await this.#options.gaps.due(free));
    } catch (error) {
      this.#options.logger.warn({ err: error }, "gaps of the ledger could not be read");
    }
    if (!this.#stopped) this.#timer = setTimeout(() => void this.#poll(), POLL_INTERVAL_MS);
  }

  async #fillOne(account: AccountName): Promise<void> {
    const { gaps, logger } = this.#options;
    try {
      for (;;) {
        const gap = await gaps.find(account);
        if (gap === null || this.#stopped) return;
        if (gap.bookedSequence >= gap.neededSequence) {
          await gaps.close(account);
          continue;
        }
        if (await this.#bookNext(gap)) continue;
        logger.warn({ ...gap }, "a gap of the ledger cannot be filled yet");
        return await gaps.postpone(account, pauseMs(gap.attempts));
      }
    } catch (error) {
      logger.warn({ err: error, ...account }, "a gap of the ledger is tried again later");
      await this.#postpone(account);
    }
  }

  /** Books the next page of the history; false where that brought the account no further. */
  async #bookNext(gap: Gap): Promise<boolean> {
    const events = await this.#options.history.since(gap, gap.bookedSequence, PAGE_EVENTS);
    const bookings = await Promise.all(events.map((event) => this.#options.book(event)));
    return bookings.some((booking) => booking !== "gap");
  }

  async #postpone(account: AccountName): Promise<void> {
    const { gaps, logger } = this.#options;
    try {
      const gap = await gaps.find(account);
      if (gap !== null) await gaps.postpone(account, pauseMs(gap.attempts));
    } catch (error) {
      logger.warn({ err: error, ...account }, "the next try of a gap could not be put off");
    }
  }
}

function pauseMs(attempts: number): number {
  return Math.min(MAX_RETRY_MS, FIRST_RETRY_MS * 2 ** Math.min(attempts, 10));
}
