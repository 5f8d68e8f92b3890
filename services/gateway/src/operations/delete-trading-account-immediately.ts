import { ApiError } from "@kapi/http";

import { callerOf, type Operation } from "./call.ts";
import { chargeAtOnce, refuseCharged } from "./charge-at-once.ts";
import { refuse } from "./charge-read.ts";
import type { Needs } from "./needs.ts";
import { Findings } from "./validate.ts";

/**
 * DELETE an account within the request, everywhere (decisions, 4.8): 200 also where it was deleted before, 400 where it
 * never existed, 500 where a step failed; the caller's retry completes it.
 */
export function deleteTradingAccountImmediately(needs: Needs): Operation {
  return async (call) => {
    const findings = new Findings();
    const serverId = findings.serverId(call);
    const accountNumber = findings.accountNumber(call);
    const error = findings.error();
    if (error !== null) return refuse(needs, call, error);
    await chargeAtOnce(needs, call);
    // The deletion may take long; an owner that is away is found out by this question, in time (decisions, 1.5).
    await needs.accounts.ids([{ serverId, accountNumber }]);
    let body: Buffer | null;
    try {
      body = await needs.accounts.deleteNow(serverId, accountNumber, callerOf(call));
    } finally {
      // Also after a failure: how far it came is not known then.
      needs.knownAccounts.forget(serverId, accountNumber);
    }
    if (body !== null) return { status: 200, body };
    // The operation lists no 404.
    return refuseCharged(needs, call, new ApiError("ACCOUNT_NOT_FOUND", { status: 400 }));
  };
}
