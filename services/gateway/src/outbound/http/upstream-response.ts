import { type InternalRoute, pathOf, type RouteRequest } from "@kapi/contracts";
import { callRouteRaw, type CallOptions, type InternalClient, unexpectedStatus } from "@kapi/http";

const OK = 200;
const NOT_FOUND = 404;

/**
 * The exact body of an owner's response, or null for 404. Every other status is a DependencyError:
 * the gateway has validated the request.
 */
export async function optionalBodyOf<R extends InternalRoute>(
  client: InternalClient,
  route: R,
  request: RouteRequest<R>,
  options?: CallOptions,
): Promise<Buffer | null> {
  const { status, body } = await callRouteRaw(client, route, request, options);
  if (status === OK) return body;
  if (status === NOT_FOUND) return null;
  throw unexpectedStatus(pathOf(route, request), status);
}

/** The exact body of an owner's response, for a route without 404. */
export async function requiredBodyOf<R extends InternalRoute>(
  client: InternalClient,
  route: R,
  request: RouteRequest<R>,
  options?: CallOptions,
): Promise<Buffer> {
  const body = await optionalBodyOf(client, route, request, options);
  if (body === null) throw unexpectedStatus(pathOf(route, request), NOT_FOUND);
  return body;
}
