import type { TradingPlatform } from "@kapi/bridge";

import { applyChanges } from "./apply-changes.ts";
import { configureServer } from "./configure-server.ts";
import type { Engine } from "./engine.ts";
import { readAccount } from "./read-account.ts";

/** The simulated servers as the platform of a bridge. */
export function createPlatform(engine: Engine): TradingPlatform {
  return {
    isConfigured: (serverId) => engine.servers.has(serverId),
    configure: (serverId, configuration) => configureServer(engine, serverId, configuration),
    apply: (serverId, changes) => applyChanges(engine, engine.server(serverId), changes),
    // A change and its event are stored together: a change without a journal row was not applied.
    findApplied: () => Promise.resolve(null),
    snapshot: (serverId, accountNumber) => Promise.resolve(readAccount(engine, engine.server(serverId), accountNumber)),
    lastSequence: (serverId, accountNumber) =>
      Promise.resolve(engine.server(serverId).accounts.get(accountNumber)?.sequence ?? null),
  };
}
