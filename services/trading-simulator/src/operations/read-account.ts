import { toIso } from "@kapi/kernel";
import type { AccountSnapshot } from "@kapi/trading-server";

import { valueAccount, toValuation } from "../domain/account-values.ts";
import type { Engine } from "./engine.ts";
import type { TradingServer } from "./server.ts";

/** The current values of an account; null: unknown or deleted. */
export function readAccount(engine: Engine, server: TradingServer, accountNumber: string): AccountSnapshot | null {
  const account = server.existingAccount(accountNumber);
  if (account === undefined || account.status === "deleted") return null;
  return {
    ...toValuation(account, valueAccount(server.market, account), toIso(engine.clock.nowMs())),
    accountName: account.name,
    leverage: account.leverage,
    status: account.status,
    currency: account.currency,
    sequence: account.sequence,
  };
}
