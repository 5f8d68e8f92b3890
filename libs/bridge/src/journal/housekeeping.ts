import { repeat, type StartedRepetition } from "@kapi/kernel";
import type { Logger, Started } from "@kapi/runtime";

import type { Committer, KeptAccount, KeptServer } from "./committer.ts";
import type { Journal } from "./ports.ts";

/** Accounts per transaction, in the background. */
const CHUNK_ACCOUNTS = 500;
/** How often the published position is stored: bounds what a restart publishes again. */
const PROGRESS_INTERVAL_MS = 1_000;

export interface HousekeepingOptions<A extends KeptAccount, S extends KeptServer> {
  readonly committer: Committer<A, S>;
  readonly journal: Pick<Journal, "saveProgress">;
  /** Servers that changed since the last call and are not stored on each change. */
  readonly changedServers: () => Iterable<S>;
  readonly events: { readonly published: number };
  /** Pause between two rounds of storing accounts that are behind the journal. */
  readonly intervalMs: number;
  readonly logger: Logger;
}

/**
 * Keeps restarts short, in the background: stores accounts that are behind the journal, and the
 * published position. `stop` does so once more.
 */
export function startHousekeeping<A extends KeptAccount, S extends KeptServer>(
  options: HousekeepingOptions<A, S>,
): Started<undefined> {
  const { committer, journal, events, logger } = options;
  let checkpoint = 0;
  const storeStates = async (): Promise<void> => {
    for (const server of options.changedServers()) committer.storeServer(server);
    checkpoint = await committer.storeAccounts(CHUNK_ACCOUNTS);
  };
  let kept = { checkpoint: 0, published: 0 };
  const saveProgress = async (): Promise<void> => {
    const now = { checkpoint, published: events.published };
    if (now.checkpoint === kept.checkpoint && now.published === kept.published) return;
    await journal.saveProgress(now);
    kept = now;
  };
  const every = (name: string, pauseMs: number, round: () => Promise<void>): StartedRepetition =>
    repeat({ name, round, pauseMs, firstPauseMs: pauseMs, logger });
  const storing = every("states of accounts and servers", options.intervalMs, storeStates);
  const saving = every("published position", PROGRESS_INTERVAL_MS, saveProgress);
  return {
    value: undefined,
    stop: async () => {
      await Promise.all([storing.stop(), saving.stop()]);
      // States first: the progress depends on them.
      await storeStates().catch((error: unknown) => logger.warn({ err: error }, "the last states were not stored"));
      await saveProgress();
    },
  };
}
