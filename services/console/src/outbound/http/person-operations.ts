import { GATEWAY_ROUTES, HEADERS, type InternalRoute, pathOf, type RouteRequest } from "@kapi/contracts";
import { callerHeaders, callRouteRaw, errorFromResponse, type InternalClient } from "@kapi/http";

import type { OperationRequest, PersonOperations } from "../../domain/person-operations.ts";

const CLIENT_ERRORS_FROM = 400;
/** Longer than the gateway takes: it waits up to 8 s until an equal earlier request is answered. */
const TIMEOUT_MS = 12_000;
const { callAccountOperation, callTemplateOperation } = GATEWAY_ROUTES;

/** Operations of the gateway for people, over internal HTTP. People see its errors unchanged. */
export function createPersonOperations(client: InternalClient): PersonOperations {
  const call = async <R extends InternalRoute>(
    route: R,
    asked: RouteRequest<R>,
    { caller, requestId }: Pick<OperationRequest<unknown>, "caller" | "requestId">,
  ) => {
    const headers = { ...callerHeaders(caller), [HEADERS.requestId]: requestId };
    // Every attempt has the same key, so a call whose connection is lost can be sent again.
    const options = { timeoutMs: TIMEOUT_MS, headers, repeatable: true };
    const response = await callRouteRaw(client, route, asked, options);
    const { status, body: answer } = response;
    return status < CLIENT_ERRORS_FROM
      ? { status, body: answer }
      : { rejection: errorFromResponse(pathOf(route, asked), response) };
  };
  return {
    onAccount: (account, { caller, requestId, ...body }) =>
      call(callAccountOperation, { params: { ...account }, body }, { caller, requestId }),
    onTemplate: (template, { caller, requestId, ...body }) =>
      call(callTemplateOperation, { params: { ...template }, body }, { caller, requestId }),
  };
}
