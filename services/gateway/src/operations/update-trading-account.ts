import { UpdateTradingAccountBody } from "@kapi/contracts";
import { ApiError } from "@kapi/http";

import type { Operation } from "./call.ts";
import type { Needs } from "./needs.ts";
import { queueAccountCommand } from "./queue-account-command.ts";

/** PATCH an account: queues account.update; 400 for a leverage that the server does not support (decisions, 4.6). */
export function updateTradingAccount(needs: Needs): Operation {
  return queueAccountCommand(needs, {
    operation: "account.update",
    body: UpdateTradingAccountBody,
    serverFinding: async (serverId, { leverage }) => {
      if (leverage === undefined || (await needs.configurations.supportsLeverage(serverId, leverage))) return null;
      return new ApiError("LEVERAGE_NOT_SUPPORTED");
    },
  });
}
