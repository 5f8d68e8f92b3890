import { delay, repeat, type Repetition } from "@kapi/kernel";
import type { Logger, Started } from "@kapi/runtime";

import type { MonthDrop, MonthStore } from "../domain/ports.ts";

/**
 * How often months are looked after. Partitions are made ahead, so a turn that fails does no harm.
 */
const KEEP_MONTHS_INTERVAL_MS = 3_600_000;
/**
 * Between two pieces of work, so that it takes little of the database: 20,000 ids, or 40 MB of a
 * month, a second at most.
 */
const PIECE_PAUSE_MS = 50;
/**
 * Tries of a turn to drop a month that is in use. With their pauses they last longer than a
 * statement may (4 s).
 */
const DROP_TRIES = 10;
const DROP_PAUSE_MS = 500;

export interface KeepMonthsNeeds {
  readonly months: MonthStore;
  /** Details are kept for the current month and so many before it. */
  readonly keptMonths: number;
  readonly logger: Logger;
  /** Aborted when the process stops. The next turn, of any process, goes on. */
  readonly signal: AbortSignal;
}

/**
 * Makes the partitions of the months to come, fills in ids, and drops the months that lie behind
 * the retention.
 */
export async function keepMonths({ months, keptMonths, logger, signal }: KeepMonthsNeeds): Promise<void> {
  await months.keep();
  while (!signal.aborted && (await months.fillIds())) await delay(PIECE_PAUSE_MS, signal);
  for (const { month, isOpen } of await months.past(keptMonths)) {
    const outcome = isOpen ? "open" : await dropMonth(months, month, signal);
    if (outcome === "dropped") logger.info({ month }, "the details of a month's commands were dropped");
    else if (outcome === "used") logger.info({ month }, "a month of commands is in use and is dropped later");
    else logger.warn({ month }, "a month of commands is past its retention and kept: a command in it is not final");
  }
}

async function dropMonth(months: MonthStore, month: string, signal: AbortSignal): Promise<MonthDrop> {
  for (let page: number | null = 0; page !== null;) {
    if (signal.aborted) return "used";
    page = await months.keepOutcomes(month, page);
    if (page !== null) await delay(PIECE_PAUSE_MS, signal);
  }
  for (let tries = 1; ; tries += 1) {
    const outcome = await months.drop(month);
    if (outcome !== "used" || tries === DROP_TRIES || signal.aborted) return outcome;
    await delay(DROP_PAUSE_MS, signal);
  }
}

/** Keeps months until it is stopped. */
export function startKeepingMonths(needs: Omit<KeepMonthsNeeds, "signal">): Started<Repetition> {
  return repeat({
    name: "months of commands",
    round: (signal) => keepMonths({ ...needs, signal }),
    pauseMs: KEEP_MONTHS_INTERVAL_MS,
    backOff: { firstMs: KEEP_MONTHS_INTERVAL_MS },
    logger: needs.logger,
  });
}
