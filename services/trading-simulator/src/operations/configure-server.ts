import type { ServerConfiguration } from "@kapi/trading-server";

import type { Engine } from "./engine.ts";
import { dayOf } from "./run-market.ts";
import { TradingServer } from "./server.ts";

/** Makes a server known, or replaces its configuration. Resolves when that is stored. */
export async function configureServer(
  engine: Engine,
  serverId: string,
  configuration: ServerConfiguration,
): Promise<void> {
  const id = serverId.toLowerCase();
  const known = engine.servers.get(id);
  if (known !== undefined) known.configuration = configuration;
  const server =
    known ?? new TradingServer(id, engine.feed, { configuration, lastRolloverDay: dayOf(engine.clock.nowMs()) });
  engine.servers.set(id, server);
  engine.committer.turn().servers.add(server);
  await engine.committer.stored();
}
