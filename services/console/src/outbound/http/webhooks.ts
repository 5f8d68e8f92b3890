import { pathOf } from "@kapi/contracts";
import { callerHeaders, callRouteRaw, type InternalClient, errorFromResponse } from "@kapi/http";

import type { Webhooks } from "../../domain/ports.ts";

const CLIENT_ERRORS_FROM = 400;
/** The webhooks service resolves the host name of an endpoint before it saves the endpoint. */
const TIMEOUT_MS = 10_000;

/** The webhooks service over internal HTTP. Its errors are shown unchanged. */
export function createWebhooks(client: InternalClient): Webhooks {
  return async (organizationId, { route, params, caller, ...rest }) => {
    const asked = { ...rest, params: { ...params, organizationId } };
    const options = { timeoutMs: TIMEOUT_MS, headers: callerHeaders(caller) };
    const response = await callRouteRaw(client, route, asked, options);
    const { status, body } = response;
    return status < CLIENT_ERRORS_FROM
      ? { status, body }
      : { rejection: errorFromResponse(pathOf(route, asked), response) };
  };
}
