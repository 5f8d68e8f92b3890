import type { TradingPlatform } from "@kapi/bridge";

import { abandonChange, applyChanges } from "./apply-changes.ts";
import { configureServer } from "./configure-server.ts";
import type { Engine } from "./engine.ts";
import { readAccount } from "./read-account.ts";
import { readQuotes } from "./read-quotes.ts";

/** The simulated servers as the platform of a bridge. */
export function createPlatform(engine: Engine): TradingPlatform {
  return {
    isConfigured: (serverId) => engine.servers.has(serverId),
    configure: (serverId, configuration) => configureServer(engine, serverId, configuration),
    apply: (serverId, changes) => applyChanges(engine, engine.server(serverId), changes),
    // An applied change is stored together with its event, which has the reference. So a reference
    // without an outcome has no applied change, but can have an incomplete one, which is rejected.
    findApplied: (serverId, reference) => Promise.resolve(abandonChange(engine, engine.server(serverId), reference)),
    snapshot: (serverId, accountNumber) => Promise.resolve(readAccount(engine, engine.server(serverId), accountNumber)),
    lastSequence: (serverId, accountNumber) =>
      Promise.resolve(engine.server(serverId).accounts.get(accountNumber)?.sequence ?? null),
    quotes: (serverId, symbols, atMs) => Promise.resolve(readQuotes(engine.server(serverId), symbols, atMs)),
  };
}
