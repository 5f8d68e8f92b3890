import { ListAccountMetricsQuery } from "@kapi/contracts";
import { ApiError } from "@kapi/http";

import type { Operation } from "./call.ts";
import { chargeRead, refuse } from "./charge-read.ts";
import type { Needs } from "./needs.ts";
import { Findings } from "./validate.ts";

/** GET stored snapshots of a server: the metrics service's bytes; of an account that there is not, none (decisions, 9). */
export function listAccountMetrics(needs: Needs): Operation {
  return async (call) => {
    const findings = new Findings();
    const serverId = findings.serverId(call);
    const query = findings.query(call, ListAccountMetricsQuery);
    const error = findings.error();
    if (error !== null || query === null) return refuse(needs, call, error ?? new ApiError("VALIDATION_FAILED"));
    await chargeRead(needs, call);
    return { status: 200, body: await needs.snapshots.list(call.key.organizationId, serverId, query) };
  };
}
