import type { ConsoleEquityHistory, EquityRange, AccountRef } from "@kapi/contracts";
import { ApiError } from "@kapi/http";
import { type Clock, toIso } from "@kapi/kernel";

import { type EquityHistories, equityTimes } from "../domain/equity-history.ts";
import type { ServerDependencies } from "./list-servers.ts";

/**
 * `directory` checks that the organization has the server, and `accounts` that the account exists.
 * The range ends at the first point after the time of `clock`.
 */
export interface EquityHistoryDependencies extends ServerDependencies {
  readonly equityHistories: EquityHistories;
  readonly clock: Clock;
}

/**
 * The equity of an account over a range that includes now. Throws 404 if the organization does not
 * have the server or the account.
 */
export async function readEquityHistory(
  { directory, accounts, equityHistories, clock }: EquityHistoryDependencies,
  organizationId: string,
  account: AccountRef,
  range: EquityRange,
): Promise<ConsoleEquityHistory> {
  await directory.server(organizationId, account.serverId);
  const [exists] = await accounts.existing([account]);
  if (exists !== true) throw new ApiError("ACCOUNT_NOT_FOUND");
  const nowMs = clock.nowMs();
  const history = await equityHistories(organizationId, account, equityTimes(range, nowMs));
  return { ...history, now: toIso(nowMs) };
}
