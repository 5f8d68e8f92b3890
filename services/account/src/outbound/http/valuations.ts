import type { TradingServerClient } from "@kapi/trading-server";

import type { Valuations } from "../../domain/ports.ts";

/** Reads the current values of an account from the trading server. */
export function createValuations(client: TradingServerClient): Valuations {
  return { current: (serverId, accountNumber) => client.snapshot(serverId, accountNumber) };
}
