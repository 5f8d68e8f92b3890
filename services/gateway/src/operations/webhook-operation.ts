import type { InternalRoute } from "@kapi/contracts";
import { ApiError } from "@kapi/http";
import { isUuid } from "@kapi/kernel";

import { type Call, callerOf, type Operation } from "./call.ts";
import { chargeAtOnce, refuseCharged } from "./charge-at-once.ts";
import { refuse } from "./charge-read.ts";
import type { Needs } from "./needs.ts";
import { Findings } from "./validate.ts";

/**
 * An operation on webhooks: the webhooks service's bytes, or its refusal, which costs the read
 * price, a 429 nothing (decisions, 7.1). Malformed ids in the path are 404, as a command's is.
 */
export function webhookOperation(needs: Needs, route: InternalRoute): Operation {
  return async (call) => {
    const findings = new Findings();
    const query = route.query === undefined ? undefined : findings.query(call, route.query);
    const body = route.body === undefined ? undefined : findings.body(call, route.body);
    const error = findings.error() ?? unknownId(call);
    if (error !== null) return refuse(needs, call, error);
    await chargeAtOnce(needs, call);
    const answer = await needs.webhooks(call.key.organizationId, {
      route,
      params: call.params,
      ...(query === undefined || query === null ? {} : { query: textsOf(query as Fields) }),
      ...(body === undefined ? {} : { body }),
      caller: callerOf(call),
    });
    if ("refusal" in answer) return refuseCharged(needs, call, answer.refusal);
    return { status: route.success ?? 200, body: answer.body };
  };
}

function unknownId({ params }: Call): ApiError | null {
  if (params["endpointId"] !== undefined && !isUuid(params["endpointId"])) return new ApiError("ENDPOINT_NOT_FOUND");
  if (params["deliveryId"] !== undefined && !isUuid(params["deliveryId"])) return new ApiError("DELIVERY_NOT_FOUND");
  return null;
}

type Fields = Readonly<Record<string, unknown>>;

/** A checked query as it stands in an address: lists with commas, what is not given left out. */
function textsOf(query: Fields): Record<string, string> {
  const given = Object.entries(query).filter(([, value]) => value !== undefined);
  return Object.fromEntries(given.map(([name, value]) => [name, String(value)]));
}
