import { type Clock, toIso } from "@kapi/kernel";
import { gauge, type Logger } from "@kapi/runtime";

import type { CreditMonths } from "../../domain/credits/ports.ts";

/**
 * A wallet shard whose epoch is older is raised, so that none stays in a month that is over. The
 * drift check does so each minute.
 */
const MAX_EPOCH_AGE_MS = 10 * 60_000;
/** Closings of wallets that are deleted in one statement. */
const MAX_CLOSINGS_PER_BATCH = 10_000;

const refusedEntries = gauge(
  "organization.entries.refused",
  "Ledger entries that were put aside: they may be in a dropped month, so that nobody can tell whether they are new",
  "{entry}",
);

/**
 * Makes the partitions of this month and the next, takes every wallet shard into this month, and
 * drops months that lie more than `keptMonths` back, one after another. A month that is in use is
 * left to the next call.
 */
export async function keepCreditMonths(
  { months, clock, logger }: { months: CreditMonths; clock: Clock; logger: Logger },
  keptMonths: number,
): Promise<void> {
  const nowMs = clock.nowMs();
  for (const ahead of [0, 1]) await months.keep(monthOf(nowMs, ahead));
  await months.raiseLagging(MAX_EPOCH_AGE_MS);
  const firstKept = monthOf(nowMs, -keptMonths);
  while (await months.dropOldest(firstKept)) logger.info({ firstKept }, "a month of the credit ledger was dropped");
  while ((await months.deleteClosings(MAX_CLOSINGS_PER_BATCH)) > 0);
  const refused = await months.countRefused();
  refusedEntries.record(refused);
  if (refused > 0) logger.error({ refused }, "entries were put aside: see the table refused_credit_entries");
}

/** The first day of the month `offset` months after that of `ms`, as YYYY-MM-DD in UTC. */
export function monthOf(ms: number, offset: number): string {
  const date = new Date(ms);
  return toIso(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + offset, 1)).slice(0, "2026-11-01".length);
}
