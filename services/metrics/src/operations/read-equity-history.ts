import type { EquityHistory } from "@kapi/contracts";
import { ApiError } from "@kapi/http";
import type { Clock } from "@kapi/kernel";

import type { EquityHistories } from "../domain/ports.ts";
import { KEPT_DAYS } from "./store-snapshots.ts";

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

/**
 * Reads the equity of an account from `from` to before `to` (ISO 8601), in at most `points` equal
 * parts of whole minutes; the last part may be shorter. Omits snapshots past their retention.
 * @throws ApiError SERVER_NOT_FOUND for a server of another organization.
 */
export async function readEquityHistory(
  dependencies: {
    readonly equityHistories: EquityHistories;
    readonly organizationOf: (serverId: string) => string | undefined;
    readonly clock: Clock;
  },
  account: { readonly organizationId: string; readonly serverId: string; readonly accountNumber: string },
  { from, to, points }: { readonly from: string; readonly to: string; readonly points: number },
): Promise<EquityHistory> {
  const { organizationId, serverId, accountNumber } = account;
  if (dependencies.organizationOf(serverId) !== organizationId) throw new ApiError("SERVER_NOT_FOUND");
  const [fromMs, toMs] = [Date.parse(from), Date.parse(to)];
  const firstKeptMs = dependencies.clock.nowMs() - KEPT_DAYS * DAY_MS;
  const pointMs = lengthOfPart(toMs - fromMs, points);
  const query = { serverId, accountNumber, fromMs, toMs, pointMs, firstKeptMs };
  return { from, to, ...(await dependencies.equityHistories.read(query)) };
}

/**
 * Returns the length of a part, in milliseconds, if a range is divided into at most `points` equal
 * parts, of which the last may be shorter. The length is a whole number of minutes, at least one,
 * because there is one snapshot per minute.
 */
export function lengthOfPart(rangeMs: number, points: number): number {
  return Math.ceil(rangeMs / points / MINUTE_MS) * MINUTE_MS;
}
