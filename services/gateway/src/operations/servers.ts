import { UpdateServerConfigurationBody } from "@kapi/contracts";
import { ApiError } from "@kapi/http";

import { callerOf, type OperationTable } from "./call.ts";
import type { Dependencies } from "./dependencies.ts";
import { RequestValidator } from "./validate.ts";

/** Reads and updates of a server's configuration, which the account service owns. */
export function serverOperations({
  accounts,
  configurations,
}: Pick<Dependencies, "accounts" | "configurations">): OperationTable<
  "getServerConfiguration" | "updateServerConfiguration"
> {
  return {
    /** The account service's response, unchanged. */
    getServerConfiguration: async (call) => {
      const validator = new RequestValidator();
      const serverId = validator.serverId(call);
      const error = validator.error();
      if (error !== null) return call.charge.reject(error);
      await call.charge.read();
      return { status: 200, body: await accounts.configurationResponse(serverId) };
    },

    /**
     * Updates the configuration within the request, also on the trading server (decisions, 4.10).
     * If the resulting configuration does not support the default leverage of the body, the account
     * service rejects the update: 400 with the issues of the account service.
     */
    updateServerConfiguration: async (call) => {
      const validator = new RequestValidator();
      const serverId = validator.serverId(call);
      const body = validator.body(call, UpdateServerConfigurationBody);
      const error = validator.error();
      if (error !== null || body === null) return call.charge.reject(error ?? new ApiError("VALIDATION_FAILED"));
      await call.charge.change();
      try {
        const changed = await accounts.changeConfiguration(serverId, body, callerOf(call));
        if ("body" in changed) return { status: 200, body: changed.body };
        return await call.charge.rejectChange(new ApiError("VALIDATION_FAILED", { issues: changed.issues }));
      } finally {
        // Also after a failure, because the change may have been made.
        configurations.forget(serverId);
      }
    },
  };
}
