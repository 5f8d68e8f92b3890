import { repeat, type StartedRepetition } from "@kapi/kernel";
import type { Logger, Started } from "@kapi/runtime";

import type { Committer, PlatformAccount, PlatformServer } from "./committer.ts";
import type { Journal } from "./ports.ts";

/** Accounts per transaction, in the background. */
const CHUNK_ACCOUNTS = 500;
/**
 * Pause between two writes of the progress. A restart publishes the events again that were
 * published after the last write.
 */
const PROGRESS_INTERVAL_MS = 1_000;

/** The sources of what housekeeping stores, and how often it stores. */
interface HousekeepingOptions<A extends PlatformAccount, S extends PlatformServer> {
  readonly committer: Committer<A, S>;
  readonly journal: Pick<Journal, "saveProgress">;
  /**
   * Returns the servers that changed since the last call. It may leave out servers whose changes
   * are stored at once.
   */
  readonly changedServers: () => Iterable<S>;
  /**
   * The event publisher. `published` is stored every second, and at the stop after `settled` has
   * resolved.
   */
  readonly events: { readonly published: number; settled(): Promise<void> };
  /** Pause between two rounds of storing accounts and servers, in milliseconds. */
  readonly intervalMs: number;
  readonly logger: Logger;
}

/**
 * Stores in the background: accounts whose stored state is older than their newest journal row,
 * changed servers, and the progress. This keeps restarts short. `stop` stores the states a last
 * time, waits for the `settled` of the event publisher (at most 5 s), and then stores the progress.
 */
export function startHousekeeping<A extends PlatformAccount, S extends PlatformServer>(
  options: HousekeepingOptions<A, S>,
): Started<undefined> {
  const { committer, journal, events, logger } = options;
  let checkpoint = 0;
  const storeStates = async (): Promise<void> => {
    for (const server of options.changedServers()) committer.storeServer(server);
    checkpoint = await committer.storeAccounts(CHUNK_ACCOUNTS);
  };
  let saved = { checkpoint: 0, published: 0 };
  const saveProgress = async (): Promise<void> => {
    const now = { checkpoint, published: events.published };
    if (now.checkpoint === saved.checkpoint && now.published === saved.published) return;
    await journal.saveProgress(now);
    saved = now;
  };
  const every = (name: string, pauseMs: number, round: () => Promise<void>): StartedRepetition =>
    repeat({ name, round, pauseMs, firstPauseMs: pauseMs, logger });
  const storing = every("states of accounts and servers", options.intervalMs, storeStates);
  const saving = every("checkpoint and published position", PROGRESS_INTERVAL_MS, saveProgress);
  return {
    value: undefined,
    stop: async () => {
      await Promise.all([storing.stop(), saving.stop()]);
      // States first: the progress depends on them.
      await storeStates().catch((error: unknown) =>
        logger.warn({ err: error }, "states were not stored at the stop; the next start reads more of the journal"),
      );
      await events.settled();
      await saveProgress();
    },
  };
}
