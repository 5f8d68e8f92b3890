/**
 * Looks at deletions that were begun and not ended: by a request that failed, or a process that was
 * killed. What fails again is due later each time; a failure of the database only makes the round
 * wait.
 */
import { repeat, type Repetition } from "@kapi/kernel";
import { counter, type Logger, type Started } from "@kapi/runtime";

import type { DeletionReports } from "../operations/delete-trading-account-immediately.ts";

const LOOK_INTERVAL_MS = 2_000;

const unannounced = counter(
  "account.deletions.unannounced",
  "Deletions that went on without the account's last events, as these could not be booked; the log names the account",
  "{deletion}",
);

export interface UnfinishedDeletionsOptions {
  /** Takes up what is due; tells what could not be done. */
  readonly resume: (reports: DeletionReports) => Promise<void>;
  readonly logger: Logger;
}

/** Starts looking; `stop` waits for the round that is under way. */
export function followUnfinishedDeletions({ resume, logger }: UnfinishedDeletionsOptions): Started<Repetition> {
  const reports: DeletionReports = {
    failed: ({ serverId, accountNumber }, error) => {
      logger.warn({ serverId, accountNumber, err: error }, "a deletion that was begun could not be ended yet");
    },
    skipped: ({ serverId, accountNumber }, error) => {
      unannounced.add(1);
      const text = "a deletion goes on without the account's last events, which could not be booked";
      logger.error({ serverId, accountNumber, err: error }, text);
    },
  };
  const round = (): Promise<void> => resume(reports);
  const pauses = { pauseMs: LOOK_INTERVAL_MS, firstPauseMs: LOOK_INTERVAL_MS };
  return repeat({ name: "unfinished deletions", round, ...pauses, logger });
}
