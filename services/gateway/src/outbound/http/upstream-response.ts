import { type InternalRoute, pathOf, type RouteRequest } from "@kapi/contracts";
import { callRouteRaw, type CallOptions, type InternalClient, unexpectedStatus } from "@kapi/http";

const OK = 200;
const NOT_FOUND = 404;

/**
 * The exact body of an owner's answer, or null where it answers 404. Every other status is a
 * DependencyError: what the gateway asks for was checked before.
 */
export async function bodyOf<R extends InternalRoute>(
  client: InternalClient,
  route: R,
  asked: RouteRequest<R>,
  options?: CallOptions,
): Promise<Buffer | null> {
  const { status, body } = await callRouteRaw(client, route, asked, options);
  if (status === OK) return body;
  if (status === NOT_FOUND) return null;
  throw unexpectedStatus(pathOf(route, asked), status);
}

/** The same, from an owner that has no 404 for it. */
export async function foundBodyOf<R extends InternalRoute>(
  client: InternalClient,
  route: R,
  asked: RouteRequest<R>,
  options?: CallOptions,
): Promise<Buffer> {
  const body = await bodyOf(client, route, asked, options);
  if (body === null) throw unexpectedStatus(pathOf(route, asked), NOT_FOUND);
  return body;
}
