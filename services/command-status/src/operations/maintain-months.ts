import { delay, repeat, type Repetition } from "@kapi/kernel";
import type { Logger, Started } from "@kapi/runtime";

import type { MonthDrop, MonthRepository } from "../domain/ports.ts";

/** Partitions are created for two months ahead, so a failed round does no harm. */
const MAINTENANCE_INTERVAL_MS = 3_600_000;
/**
 * Pause between two pieces of work, to limit the load on the database: at most 20,000 ids, or 40 MB
 * of a month, per second.
 */
const PIECE_PAUSE_MS = 50;
/**
 * Attempts per round to drop a month that is in use. With their pauses they last longer than the
 * longest statement (4 s).
 */
const DROP_ATTEMPTS = 10;
const DROP_PAUSE_MS = 500;

interface MonthMaintenanceDependencies {
  readonly months: MonthRepository;
  /** Number of months before the current one whose details are kept. */
  readonly keptMonths: number;
  readonly logger: Logger;
  /** Aborts when the process stops. The next round, of any process, continues the work. */
  readonly signal: AbortSignal;
}

/**
 * Creates the partitions of the current and the coming months, backfills ids, and drops months past
 * the retention.
 */
export async function maintainMonths({
  months,
  keptMonths,
  logger,
  signal,
}: MonthMaintenanceDependencies): Promise<void> {
  await months.createPartitions();
  while (!signal.aborted && (await months.backfillIds())) await delay(PIECE_PAUSE_MS, signal);
  for (const { month, isOpen } of await months.findExpired(keptMonths)) {
    const outcome = isOpen ? "open" : await dropMonth(months, month, signal);
    if (outcome === null) return;
    if (outcome === "dropped") logger.info({ month }, "dropped the details of a month of commands");
    else if (outcome === "used")
      logger.info({ month }, "cannot drop a month of commands yet: a running statement uses it");
    else logger.warn({ month }, "cannot drop a month of commands past its retention: a command in it is not final");
  }
}

/** Archives the outcomes of a month and drops it; null if the process stops before the drop. */
async function dropMonth(months: MonthRepository, month: string, signal: AbortSignal): Promise<MonthDrop | null> {
  for (let page: number | null = 0; page !== null;) {
    if (signal.aborted) return null;
    page = await months.archiveOutcomes(month, page);
    if (page !== null) await delay(PIECE_PAUSE_MS, signal);
  }
  for (let attempt = 1; ; attempt += 1) {
    const outcome = await months.drop(month);
    if (outcome !== "used" || attempt === DROP_ATTEMPTS || signal.aborted) return outcome;
    await delay(DROP_PAUSE_MS, signal);
  }
}

/** Maintains months every hour until it is stopped. */
export function startMonthMaintenance(dependencies: Omit<MonthMaintenanceDependencies, "signal">): Started<Repetition> {
  return repeat({
    name: "months of commands",
    round: (signal) => maintainMonths({ ...dependencies, signal }),
    pauseMs: MAINTENANCE_INTERVAL_MS,
    backOff: { firstMs: MAINTENANCE_INTERVAL_MS },
    logger: dependencies.logger,
  });
}
