import { repeat, type StartedRepetition } from "@kapi/kernel";
import type { Logger, Started } from "@kapi/runtime";

import type { Journal } from "../domain/ports.ts";
import type { Engine } from "./engine.ts";
import type { TradingServer } from "./server.ts";

/** Accounts whose state is stored in one transaction beside the other work. */
const CHUNK_ACCOUNTS = 500;
/** How often the published position is kept: what a restart publishes again is at most this old. */
const PROGRESS_INTERVAL_MS = 1_000;

export interface HousekeepingOptions {
  readonly engine: Engine;
  readonly journal: Journal;
  readonly events: { readonly published: number };
  /** From one storing of the states that the journal is ahead of to the next. */
  readonly intervalMs: number;
  readonly logger: Logger;
}

/**
 * Keeps, in the background, what makes a restart short: the states of accounts and markets, and how far the events are
 * published. `stop` does it a last time.
 */
export function startHousekeeping(options: HousekeepingOptions): Started<undefined> {
  const { engine, journal, events, logger } = options;
  let checkpoint = 0;
  /** Up to which tick the state of each market is stored. */
  const storedTicks = new WeakMap<TradingServer, number>();
  const storeStates = async (): Promise<void> => {
    for (const server of engine.servers.values()) {
      const { tick } = server.market.state;
      if (storedTicks.get(server) === tick) continue;
      engine.committer.turn().servers.add(server);
      storedTicks.set(server, tick);
    }
    checkpoint = await engine.committer.storeAccounts(CHUNK_ACCOUNTS);
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
  const storing = every("states of accounts and markets", options.intervalMs, storeStates);
  const saving = every("published position", PROGRESS_INTERVAL_MS, saveProgress);
  return {
    value: undefined,
    stop: async () => {
      await Promise.all([storing.stop(), saving.stop()]);
      // The states first, then the progress that rests on them.
      await storeStates().catch((error: unknown) => logger.warn({ err: error }, "the last states were not stored"));
      await saveProgress();
    },
  };
}
