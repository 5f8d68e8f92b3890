import { callerOf, addressOf, type FastifyRequest } from "@kapi/http";

import type { AuditCaller } from "../../domain/audit.ts";

/** Who makes a change, for the audit log: the person whom the console names, else the operator. */
export function changedBy(request: FastifyRequest): AuditCaller {
  return callerOf(request.headers) ?? { actor: { type: "operator", id: null }, address: addressOf(request) };
}
