import type { Started } from "@kapi/runtime";

import type { Engine } from "./engine.ts";
import { runTick } from "./run-market.ts";
import type { TradingServer } from "./server.ts";

/**
 * Lets the market of every server that is not paused tick. An error in it is a mistake of ours and
 * ends the process.
 */
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

/** Gives, at each call, the servers whose market has moved since the call before. */
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
