import { toIso } from "@kapi/kernel";
import type { AccountSnapshot } from "@kapi/trading-server";

import type { Journal } from "../domain/ports.ts";
import { reckon, toValuation } from "../domain/reckoning.ts";
import type { Engine } from "./engine.ts";
import type { TradingServer } from "./server.ts";

/** The account at this moment, or null where there is none or it was deleted. Shows only what is stored. */
export async function readAccount(
  engine: Engine,
  server: TradingServer,
  accountNumber: string,
): Promise<AccountSnapshot | null> {
  const account = server.openAccount(accountNumber);
  if (account === undefined || account.status === "deleted") return null;
  const snapshot: AccountSnapshot = {
    ...toValuation(account, reckon(server.market, account), toIso(engine.clock.nowMs())),
    accountName: account.name,
    leverage: account.leverage,
    status: account.status,
    currency: account.currency,
    sequence: account.sequence,
  };
  await engine.committer.stored();
  return snapshot;
}

/** Sequence of the account's last stored event, also of a deleted account; null where there never was one. */
export async function readSequence(
  engine: Engine,
  server: TradingServer,
  accountNumber: string,
): Promise<number | null> {
  const sequence = server.accounts.get(accountNumber)?.sequence ?? null;
  await engine.committer.stored();
  return sequence;
}

/** Events of an account (JSON text) above `since`, and its last sequence then; null where there never was an account. */
export async function readHistory(
  engine: Engine,
  journal: Journal,
  server: TradingServer,
  query: { accountNumber: string; since: number; limit: number },
): Promise<{ events: string[]; lastSequence: number } | null> {
  const lastSequence = await readSequence(engine, server, query.accountNumber);
  if (lastSequence === null) return null;
  const events = await journal.history(server.serverId, query.accountNumber, query.since, query.limit);
  return { events, lastSequence };
}
