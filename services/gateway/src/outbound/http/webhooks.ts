import { pathOf, WEBHOOKS_ROUTES } from "@kapi/contracts";
import { callerHeaders, callRouteRaw, type InternalClient, errorFromResponse } from "@kapi/http";

import type { Webhooks } from "../../domain/ports.ts";
import { checkedPage } from "./upstream-response.ts";

const CLIENT_ERRORS_FROM = 400;
/** The filters of listWebhookDeliveries that release 0.1.0 knows. */
const FORMER_FILTERS = ["status", "type"];

/** The webhooks service over internal HTTP. Its 4xx errors are passed on to the caller. */
export function createWebhooks(client: InternalClient): Webhooks {
  return async (organizationId, { route, params, caller, ...rest }) => {
    const request = { ...rest, params: { ...params, organizationId } };
    const options = { organizationId, headers: callerHeaders(caller) };
    const response = await callRouteRaw(client, route, request, options);
    if (response.status < CLIENT_ERRORS_FROM) {
      const isList = route === WEBHOOKS_ROUTES.listWebhookDeliveries;
      return { body: isList ? checkedPage(route, rest.query ?? {}, FORMER_FILTERS, response.body) : response.body };
    }
    return { rejection: errorFromResponse(pathOf(route, request), response) };
  };
}
