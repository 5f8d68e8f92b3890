import type { Started } from "@kapi/runtime";

import type { Engine } from "./engine.ts";
import { runTick } from "./run-market.ts";
import type { TradingServer } from "./server.ts";

/** Ticks every market that is not paused. An error is a bug and ends the process. */
export function startMarketClock(
  engine: Engine,
  intervalMs: number,
  fatal: (error: unknown) => void,
): Started<undefined> {
  const timer = setInterval(() => {
    try {
      for (const server of engine.servers.values()) {
        if (!server.market.state.paused) runTick(engine, server, intervalMs);
      }
    } catch (error) {
      fatal(error);
    }
  }, intervalMs);
  return {
    value: undefined,
    stop: () => {
      clearInterval(timer);
      return Promise.resolve();
    },
  };
}

/**
 * Each call of the result returns the servers that are new, or whose market ticked, since the
 * previous call. The first call returns all servers.
 */
export function changedMarkets(engine: Engine): () => TradingServer[] {
  const ticks = new WeakMap<TradingServer, number>();
  return () =>
    [...engine.servers.values()].filter((server) => {
      const { tick } = server.market.state;
      const isChanged = ticks.get(server) !== tick;
      ticks.set(server, tick);
      return isChanged;
    });
}
