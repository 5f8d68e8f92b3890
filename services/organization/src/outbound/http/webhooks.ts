import { callerHeaders, type InternalClient, refusalOf, withQuery } from "@kapi/http";

import type { Webhooks } from "../../domain/console-ports.ts";

const CLIENT_ERRORS_FROM = 400;
/** Saving an endpoint looks its name up first. */
const TIMEOUT_MS = 10_000;

/** The webhooks service over internal HTTP. What it refuses, the person is told as it says it. */
export function webhooksOver(client: InternalClient): Webhooks {
  return async (organizationId, { method, path, query, body: asked, caller }) => {
    const base = `/internal/organizations/${organizationId}${path}`;
    const url = query === undefined ? base : withQuery(base, query);
    const response = await client.request(method, url, asked, {
      timeoutMs: TIMEOUT_MS,
      headers: callerHeaders(caller),
    });
    const { status, body } = response;
    return status < CLIENT_ERRORS_FROM ? { status, body } : { refusal: refusalOf(url, response) };
  };
}
