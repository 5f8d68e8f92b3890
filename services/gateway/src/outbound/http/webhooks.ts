import { callerHeaders, type InternalClient, refusalOf, withQuery } from "@kapi/http";

import type { Webhooks } from "../../domain/ports.ts";

const CLIENT_ERRORS_FROM = 400;

/** The webhooks service over internal HTTP. What it refuses, the caller is told as it says it. */
export function createWebhooks(client: InternalClient): Webhooks {
  return async (organizationId, { method, path, query, body: asked, caller }) => {
    const base = `/internal/organizations/${organizationId}${path}`;
    const url = query === undefined ? base : withQuery(base, query);
    const response = await client.request(method, url, asked, { organizationId, headers: callerHeaders(caller) });
    if (response.status < CLIENT_ERRORS_FROM) return { body: response.body };
    return { refusal: refusalOf(url, response) };
  };
}
