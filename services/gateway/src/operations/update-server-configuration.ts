import { UpdateServerConfigurationBody } from "@kapi/contracts";
import { ApiError } from "@kapi/http";

import { callerOf, type Operation } from "./call.ts";
import { chargeAtOnce, refuseCharged } from "./charge-at-once.ts";
import { refuse } from "./charge-read.ts";
import type { Needs } from "./needs.ts";
import { Findings } from "./validate.ts";

/**
 * PATCH a server's configuration, within the request, on the trading server too (decisions, 4.10). Whether the default
 * leverage is among those that result is the owner's to say: 400 with its issues.
 */
export function updateServerConfiguration(needs: Needs): Operation {
  return async (call) => {
    const findings = new Findings();
    const serverId = findings.serverId(call);
    const body = findings.body(call, UpdateServerConfigurationBody);
    const error = findings.error();
    if (error !== null || body === null) return refuse(needs, call, error ?? new ApiError("VALIDATION_FAILED"));
    await chargeAtOnce(needs, call);
    try {
      const changed = await needs.accounts.changeConfiguration(serverId, body, callerOf(call));
      if ("body" in changed) return { status: 200, body: changed.body };
      return await refuseCharged(needs, call, new ApiError("VALIDATION_FAILED", { issues: changed.issues }));
    } finally {
      // Also after a failure: whether it was changed is not known then.
      needs.configurations.forget(serverId);
    }
  };
}
