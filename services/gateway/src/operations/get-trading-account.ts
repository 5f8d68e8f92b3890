import { ApiError } from "@kapi/http";

import type { Operation } from "./call.ts";
import { chargeRead, refuse } from "./charge-read.ts";
import type { Needs } from "./needs.ts";
import { Findings, removedServer } from "./validate.ts";

/** GET the details of an account: the account service's bytes. */
export function getTradingAccount(needs: Needs): Operation {
  return async (call) => {
    const findings = new Findings();
    const serverId = findings.serverId(call);
    const accountNumber = findings.accountNumber(call);
    const error = findings.error() ?? removedServer(call);
    if (error !== null) return refuse(needs, call, error);
    await chargeRead(needs, call);
    const body = await needs.accounts.accountBytes(serverId, accountNumber);
    if (body === null) throw new ApiError("ACCOUNT_NOT_FOUND");
    return { status: 200, body };
  };
}
