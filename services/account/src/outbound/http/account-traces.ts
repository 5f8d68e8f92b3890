import type { InternalClient } from "@kapi/http";
import { z } from "zod";

import type { AccountTraces } from "../../domain/ports.ts";

const Answer = z.object({});
/** Deadline of one removal, in milliseconds: metrics may have a month of snapshots to delete. */
const REMOVAL_TIMEOUT_MS = 4_000;

/** Has finance and metrics remove what they know of an account. */
export function createAccountTraces(finance: InternalClient, metrics: InternalClient): AccountTraces {
  const remove = async (service: InternalClient, serverId: string, accountNumber: string): Promise<void> => {
    const path = `/internal/servers/${serverId}/accounts/${encodeURIComponent(accountNumber)}`;
    await service.json("DELETE", path, undefined, Answer, { timeoutMs: REMOVAL_TIMEOUT_MS, repeatable: true });
  };
  return {
    inFinance: (serverId, accountNumber) => remove(finance, serverId, accountNumber),
    inMetrics: (serverId, accountNumber) => remove(metrics, serverId, accountNumber),
  };
}
