import { type AccountState, AccountStateQuery, type StoredEquity } from "@kapi/contracts";
import { ApiError } from "@kapi/http";
import { toIso } from "@kapi/kernel";

import type { ReadLastSnapshot } from "../domain/ports.ts";
import type { Operation } from "./call.ts";
import type { Dependencies } from "./dependencies.ts";
import { removedServer, RequestValidator } from "./validate.ts";

/**
 * Length of the minute of a snapshot. A snapshot has the last sample of the minute, and the time at
 * which the minute began.
 */
const SNAPSHOT_MS = 60_000;
/** A caller's clock may be this far ahead of kapi's. */
const MAX_CLOCK_AHEAD_MS = 5_000;

/**
 * An account as it was at a time (decisions, 4.12): its positions from the account service, its
 * balance from finance, its last equity from metrics. Nothing is left out: if an owner is
 * unavailable, the answer is 500.
 */
export function accountState({
  accounts,
  knownAccounts,
  readBalance,
  readLastSnapshot,
  clock,
}: Pick<Dependencies, "accounts" | "knownAccounts" | "readBalance" | "readLastSnapshot" | "clock">): Operation {
  return async (call) => {
    const validator = new RequestValidator();
    const serverId = validator.serverId(call);
    const accountNumber = validator.accountNumber(call);
    const query = validator.query(call, AccountStateQuery);
    const error = validator.error() ?? removedServer(call);
    if (error !== null || query === null) return call.charge.reject(error ?? new ApiError("VALIDATION_FAILED"));
    const { at } = query;
    const nowMs = clock.nowMs();
    if (at > toIso(nowMs + MAX_CLOCK_AHEAD_MS)) {
      return call.charge.reject(invalidTime(`must not be in the future: the current time is ${toIso(nowMs)}`));
    }
    await call.charge.read();
    // Finance and metrics do not know every account that exists.
    if ((await knownAccounts.find(serverId, accountNumber)) === null) throw new ApiError("ACCOUNT_NOT_FOUND");
    const [open, balance, equity] = await Promise.all([
      accounts.openPositions(serverId, accountNumber, at),
      readBalance(serverId, accountNumber, at),
      lastEquity(readLastSnapshot, call.caller.organizationId, { serverId, accountNumber, at }),
    ]);
    if (open === null || balance === null) throw new ApiError("ACCOUNT_NOT_FOUND");
    const { createdAt, currency, positionCount, positions } = open;
    if (at < createdAt) throw invalidTime(`must not be before the account began: ${createdAt}`);
    const state: AccountState = {
      serverId,
      accountNumber,
      at,
      currency,
      balance,
      positionCount,
      positions,
      equity,
    };
    return { status: 200, body: JSON.stringify({ state }) };
  };
}

/** The last stored equity whose whole minute was over at `at`; null without one. */
async function lastEquity(
  readLastSnapshot: ReadLastSnapshot,
  organizationId: string,
  { serverId, accountNumber, at }: Pick<AccountState, "serverId" | "accountNumber" | "at">,
): Promise<StoredEquity | null> {
  const atMs = Date.parse(at);
  // `at` includes its whole millisecond, so a minute is over at `at` if it began 59,999 ms before
  // `at` or earlier. `before` is exclusive, so it is 1 ms after the latest such beginning. `before`
  // is never earlier than 1970: no snapshot is older, and metrics rejects the year 0.
  const before = toIso(Math.max(0, atMs - SNAPSHOT_MS + 2));
  const snapshot = await readLastSnapshot(organizationId, serverId, accountNumber, before);
  if (snapshot === null) return null;
  const { equity: value, measuredAt } = snapshot;
  return { value, measuredAt, ageMs: atMs - Date.parse(measuredAt) };
}

function invalidTime(message: string): ApiError {
  return new ApiError("VALIDATION_FAILED", { issues: [{ path: ["at"], code: "custom", message }] });
}
