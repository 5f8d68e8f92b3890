import { pathOf } from "@kapi/contracts";
import { callerHeaders, callRouteRaw, type InternalClient, errorFromResponse } from "@kapi/http";

import type { Webhooks } from "../../domain/ports.ts";

const CLIENT_ERRORS_FROM = 400;

/** The webhooks service over internal HTTP. What it refuses, the caller is told as it says it. */
export function createWebhooks(client: InternalClient): Webhooks {
  return async (organizationId, { route, params, caller, ...rest }) => {
    const asked = { ...rest, params: { ...params, organizationId } };
    const options = { organizationId, headers: callerHeaders(caller) };
    const response = await callRouteRaw(client, route, asked, options);
    if (response.status < CLIENT_ERRORS_FROM) return { body: response.body };
    return { refusal: errorFromResponse(pathOf(route, asked), response) };
  };
}
