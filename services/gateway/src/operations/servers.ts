import { UpdateServerConfigurationBody } from "@kapi/contracts";
import { ApiError } from "@kapi/http";

import { callerOf, type OperationTable } from "./call.ts";
import type { Dependencies } from "./dependencies.ts";
import { Findings } from "./validate.ts";

/** A server's configuration, which the account service owns. */
export function serverOperations({
  accounts,
  configurations,
}: Pick<Dependencies, "accounts" | "configurations">): OperationTable<
  "getServerConfiguration" | "updateServerConfiguration"
> {
  return {
    /** The account service's bytes. */
    getServerConfiguration: async (call) => {
      const findings = new Findings();
      const serverId = findings.serverId(call);
      const error = findings.error();
      if (error !== null) return call.charge.refuse(error);
      await call.charge.read();
      return { status: 200, body: await accounts.configurationBytes(serverId) };
    },

    /**
     * Within the request, on the trading server too (decisions, 4.10). Whether the default leverage
     * is among those that result is the owner's to say: 400 with its issues.
     */
    updateServerConfiguration: async (call) => {
      const findings = new Findings();
      const serverId = findings.serverId(call);
      const body = findings.body(call, UpdateServerConfigurationBody);
      const error = findings.error();
      if (error !== null || body === null) return call.charge.refuse(error ?? new ApiError("VALIDATION_FAILED"));
      await call.charge.change();
      try {
        const changed = await accounts.changeConfiguration(serverId, body, callerOf(call));
        if ("body" in changed) return { status: 200, body: changed.body };
        return await call.charge.refuseChange(new ApiError("VALIDATION_FAILED", { issues: changed.issues }));
      } finally {
        // Also after a failure: whether it was changed is not known then.
        configurations.forget(serverId);
      }
    },
  };
}
