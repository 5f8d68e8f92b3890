import { pathOf } from "@kapi/contracts";
import { callerHeaders, callRouteRaw, type InternalClient, errorFromResponse } from "@kapi/http";

import type { Webhooks } from "../../domain/ports.ts";

const CLIENT_ERRORS_FROM = 400;
/** Saving an endpoint looks its name up first. */
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
