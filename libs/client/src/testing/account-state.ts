/** The state that an account of the fake had at a given time. The fake stores no equity. */
import { amountOf, type Json, type StoredAccount } from "./state.ts";

/** Returns the state at `at`: ISO 8601 in UTC, with milliseconds, as all times of the fake. */
export function accountStateAt(account: StoredAccount, at: string): Json {
  const hasPassed = (time: unknown): boolean => String(time) <= at;
  const last = account.transactions.findLast(({ recordedAt }) => hasPassed(recordedAt));
  const positions = account.positions
    .filter(({ openedAt, closedAt }) => hasPassed(openedAt) && (closedAt === null || !hasPassed(closedAt)))
    // The fake closes whole positions only.
    .map(({ status: _status, closedAt: _closedAt, ...position }) => Object.assign(position, { closedVolume: 0 }))
    .toReversed();
  return {
    serverId: account.serverId,
    accountNumber: account.accountNumber,
    at,
    currency: "USD",
    balance: last?.["balanceAfter"] ?? amountOf(0),
    positionCount: positions.length,
    positions,
    equity: null,
  };
}
