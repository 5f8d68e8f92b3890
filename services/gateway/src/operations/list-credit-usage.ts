import { PageQuery } from "@kapi/contracts";
import { ApiError } from "@kapi/http";

import type { Operation } from "./call.ts";
import { chargeRead, refuse } from "./charge-read.ts";
import type { Needs } from "./needs.ts";
import { Findings } from "./validate.ts";

/** GET credits/usage: the organization service's bytes. */
export function listCreditUsage(needs: Needs): Operation {
  return async (call) => {
    const findings = new Findings();
    const query = findings.query(call, PageQuery);
    const error = findings.error();
    if (error !== null || query === null) return refuse(needs, call, error ?? new ApiError("VALIDATION_FAILED"));
    await chargeRead(needs, call);
    return { status: 200, body: await needs.creditUsage.list(call.key.organizationId, query) };
  };
}
