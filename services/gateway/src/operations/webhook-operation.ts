import { ApiError } from "@kapi/http";
import { isUuid } from "@kapi/kernel";
import type { z } from "zod";

import { type Answer, type Call, callerOf, type Operation } from "./call.ts";
import { chargeAtOnce, refuseCharged } from "./charge-at-once.ts";
import { refuse } from "./charge-read.ts";
import type { Needs } from "./needs.ts";
import { Findings } from "./validate.ts";

type Named = Readonly<Record<string, string>>;

/** What one operation on webhooks is at its owner. */
export interface WebhookOperation {
  /** Below the organization, of ids that are known to be ids. */
  readonly path: (params: Named) => string;
  readonly query?: z.ZodType<Readonly<Record<string, unknown>>>;
  readonly body?: z.ZodType;
  readonly status?: Answer["status"];
}

/**
 * An operation on webhooks: the webhooks service's bytes, or its refusal, which costs the read
 * price, a 429 nothing (decisions, 7.1). Malformed ids in the path are 404, as a command's is.
 */
export function webhookOperation(needs: Needs, operation: WebhookOperation): Operation {
  return async (call) => {
    const findings = new Findings();
    const query = operation.query === undefined ? undefined : findings.query(call, operation.query);
    const body = operation.body === undefined ? undefined : findings.body(call, operation.body);
    const error = findings.error() ?? unknownId(call);
    if (error !== null) return refuse(needs, call, error);
    await chargeAtOnce(needs, call);
    const answer = await needs.webhooks(call.key.organizationId, {
      method: call.contract.method,
      path: operation.path(call.params),
      ...(query === undefined || query === null ? {} : { query: textsOf(query) }),
      ...(body === undefined ? {} : { body }),
      caller: callerOf(call),
    });
    if ("refusal" in answer) return refuseCharged(needs, call, answer.refusal);
    return { status: operation.status ?? 200, body: answer.body };
  };
}

function unknownId({ params }: Call): ApiError | null {
  if (params["endpointId"] !== undefined && !isUuid(params["endpointId"])) return new ApiError("ENDPOINT_NOT_FOUND");
  if (params["deliveryId"] !== undefined && !isUuid(params["deliveryId"])) return new ApiError("DELIVERY_NOT_FOUND");
  return null;
}

/** A checked query as it stands in an address: lists with commas, what is not given left out. */
function textsOf(query: Readonly<Record<string, unknown>>): Record<string, string> {
  const given = Object.entries(query).filter(([, value]) => value !== undefined);
  return Object.fromEntries(given.map(([name, value]) => [name, String(value)]));
}
