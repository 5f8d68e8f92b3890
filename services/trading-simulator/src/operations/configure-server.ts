import type { ServerConfiguration } from "@kapi/trading-server";

import type { Engine } from "./engine.ts";
import { dayOf } from "./run-market.ts";
import { TradingServer } from "./server.ts";

/** Adds a server, or replaces its configuration. */
export function configureServer(engine: Engine, serverId: string, configuration: ServerConfiguration): void {
  const known = engine.servers.get(serverId);
  if (known !== undefined) known.configuration = configuration;
  const nowMs = engine.clock.nowMs();
  const server =
    known ?? new TradingServer(serverId, engine.feed, { configuration, lastRolloverDay: dayOf(nowMs) }, nowMs);
  engine.servers.set(serverId, server);
  engine.committer.storeServer(server);
}
