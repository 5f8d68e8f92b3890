import type { TradingServerClient } from "@kapi/trading-server";

import type { Valuations } from "../../domain/ports.ts";

/** Asks the trading server what an account is worth at this moment. */
export function createValuations(client: TradingServerClient): Valuations {
  return { current: (serverId, accountNumber) => client.snapshot(serverId, accountNumber) };
}
