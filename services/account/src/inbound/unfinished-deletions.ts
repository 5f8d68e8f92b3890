/**
 * Looks at deletions that were begun and not ended: by a request that failed, or a process that was killed. What fails
 * again is due later each time; a failure of the database only makes the round wait.
 */
import { delay } from "@kapi/kernel";
import type { Logger, Started } from "@kapi/runtime";

import type { DeletionState } from "../domain/ports.ts";

const LOOK_INTERVAL_MS = 2_000;

export interface UnfinishedDeletionsOptions {
  /** Takes up what is due; tells what could not be done. */
  readonly resume: (onFailure: (state: DeletionState, error: unknown) => void) => Promise<void>;
  readonly logger: Logger;
}

/** Starts looking; `stop` waits for the round that is under way. */
export function followUnfinishedDeletions({ resume, logger }: UnfinishedDeletionsOptions): Started<void> {
  const stopping = new AbortController();
  const onFailure = ({ account }: DeletionState, error: unknown): void => {
    const { serverId, accountNumber } = account;
    logger.warn({ serverId, accountNumber, err: error }, "a deletion that was begun could not be ended yet");
  };
  const loop = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      await delay(LOOK_INTERVAL_MS, stopping.signal);
      if (stopping.signal.aborted) return;
      await resume(onFailure).catch((error: unknown) => {
        logger.warn({ err: error }, "unfinished deletions could not be looked at; trying again");
      });
    }
  };
  const running = loop();
  return {
    value: undefined,
    stop: async () => {
      stopping.abort();
      await running;
    },
  };
}
