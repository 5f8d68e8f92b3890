import { type Clock, toIso } from "@kapi/kernel";
import { gauge, type Logger } from "@kapi/runtime";

import type { CreditMonths } from "../../domain/credits/ports.ts";

/**
 * Maximum age of an epoch. The drift check raises epochs each minute. An epoch that was not raised
 * for this long is raised here, so that no shard stays in a past month.
 */
const MAX_EPOCH_AGE_MS = 10 * 60_000;
const MAX_CLOSINGS_PER_BATCH = 10_000;

const refusedEntries = gauge(
  "organization.entries.refused",
  "Credit ledger entries in the table refused_credit_entries: a dropped month may have had them already",
  "{entry}",
);

/**
 * Creates the partitions of this month and the next, moves shards with an old epoch into this
 * month, and drops months that are more than `keptMonths` months back. A month in use is left to
 * the next call. Deletes old rows of `wallet_closings` (the sums of a wallet at the end of a
 * month), and reports refused entries.
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
  if (refused > 0) logger.error({ refused }, "ledger entries were put aside: check the table refused_credit_entries");
}

/** First day of the month that is `offset` months after `ms`: YYYY-MM-DD, UTC. */
export function monthOf(ms: number, offset: number): string {
  const date = new Date(ms);
  return toIso(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + offset, 1)).slice(0, "2026-11-01".length);
}
