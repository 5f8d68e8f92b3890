import type { InternalClient } from "@kapi/http";
import { z } from "zod";

import type { AccountTraces } from "../../domain/ports.ts";

const Answer = z.object({});

/** Has finance and metrics remove what they know of an account. */
export function createAccountTraces(finance: InternalClient, metrics: InternalClient): AccountTraces {
  const remove = async (service: InternalClient, serverId: string, accountNumber: string): Promise<void> => {
    const path = `/internal/servers/${serverId}/accounts/${encodeURIComponent(accountNumber)}`;
    await service.json("DELETE", path, undefined, Answer);
  };
  return {
    inFinance: (serverId, accountNumber) => remove(finance, serverId, accountNumber),
    inMetrics: (serverId, accountNumber) => remove(metrics, serverId, accountNumber),
  };
}
