/**
 * Resumes unfinished deletions: after a failed request, a failed attempt at a command, or the end
 * of a process. A failed deletion is retried with increasing delay. If the due deletions cannot be
 * read from the database, they are read again after a pause.
 */
import { repeat, type Repetition } from "@kapi/kernel";
import { counter, type Logger, type Started } from "@kapi/runtime";

import type { DeletionReports } from "../operations/delete-trading-account-immediately.ts";

const LOOK_INTERVAL_MS = 2_000;

const unannounced = counter(
  "account.deletions.unannounced",
  "Deletions that continued without the account's last events, which could not be booked; the log names the account",
  "{deletion}",
);

interface UnfinishedDeletionsOptions {
  /** Resumes due deletions; reports failures and skipped events. */
  readonly resume: (reports: DeletionReports) => Promise<void>;
  readonly logger: Logger;
}

/** Starts the rounds; `stop` waits for the current one. */
export function startUnfinishedDeletions({ resume, logger }: UnfinishedDeletionsOptions): Started<Repetition> {
  const reports: DeletionReports = {
    failed: ({ serverId, accountNumber }, error) => {
      logger.warn({ serverId, accountNumber, err: error }, "a deletion could not be completed yet");
    },
    skipped: ({ serverId, accountNumber }, error) => {
      unannounced.add(1);
      const text = "a deletion continues without the account's last events, which could not be booked";
      logger.error({ serverId, accountNumber, err: error }, text);
    },
  };
  const round = (): Promise<void> => resume(reports);
  const pauses = { pauseMs: LOOK_INTERVAL_MS, firstPauseMs: LOOK_INTERVAL_MS };
  return repeat({ name: "unfinished deletions", round, ...pauses, logger });
}
