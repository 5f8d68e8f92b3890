import { type InternalRoute, pathOf, type RouteRequest } from "@kapi/contracts";
import {
  callRouteRaw,
  type CallOptions,
  DependencyError,
  errorFromResponse,
  type InternalClient,
  type InternalResponse,
  unexpectedStatus,
} from "@kapi/http";
import { z } from "zod";

const OK = 200;
const NOT_FOUND = 404;
const TOO_MANY_REQUESTS = 429;
/**
 * Every page of this release contains these bytes. Text of callers cannot contain them, because its
 * quotation marks are escaped.
 */
const NEXT_CURSOR = Buffer.from('"nextCursor":');

/**
 * The exact body of an owner's response, or null for 404. Every other status is a DependencyError,
 * because the gateway has validated the request. Only the 429 of a read is passed on.
 * @throws ApiError TOO_MANY_CONCURRENT_REQUESTS above the organization's share of calls to the
 * owner; for a read, also above the share of calls to a trading server.
 */
export async function optionalBodyOf<R extends InternalRoute>(
  client: InternalClient,
  route: R,
  request: RouteRequest<R>,
  options?: CallOptions,
): Promise<Buffer | null> {
  const response = await callRouteRaw(client, route, request, options);
  if (response.status === OK) return response.body;
  if (response.status === NOT_FOUND) return null;
  throw failureOf(route, pathOf(route, request), response);
}

/**
 * The parsed body of an owner's response, or null for an account that does not exist. Every other
 * status is a DependencyError, also the 404 of a process of an earlier release that does not have
 * the route. Only the 429 of a read is passed on.
 * @throws ApiError as {@link optionalBodyOf}.
 */
export async function accountBodyOf<R extends InternalRoute>(
  client: InternalClient,
  route: R,
  request: RouteRequest<R>,
  options?: CallOptions,
): Promise<z.output<R["answer"]> | null> {
  const response = await callRouteRaw(client, route, request, options);
  const path = pathOf(route, request);
  if (response.status === NOT_FOUND && errorFromResponse(path, response).code === "ACCOUNT_NOT_FOUND") return null;
  if (response.status !== OK) throw failureOf(route, path, response);
  const answer = route.answer as z.ZodType<z.output<R["answer"]>>;
  const parsed = answer.safeParse(JSON.parse(response.body.toString("utf8")));
  if (parsed.success) return parsed.data;
  throw new DependencyError(`${path}: the response does not match the schema: ${z.prettifyError(parsed.error)}`);
}

/**
 * A change that was begun is never answered with 429, because the caller would assume that the
 * change was not begun.
 */
function failureOf({ method }: InternalRoute, path: string, response: InternalResponse): Error {
  const isPassedOn = response.status === TOO_MANY_REQUESTS && method === "GET";
  return isPassedOn ? errorFromResponse(path, response) : unexpectedStatus(path, response.status);
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

/**
 * Returns a page, if its owner knows all fields of the query. Release 0.1.0 ignores cursors and the
 * filters that are not in `formerFilters`, so its page would have other records.
 * @throws DependencyError for a page of release 0.1.0 that ignored a field.
 */
export function checkedPage<Body extends Buffer | null>(
  { path }: InternalRoute,
  query: object,
  formerFilters: readonly string[],
  body: Body,
): Body {
  const isFormer = (name: string): boolean => name === "page" || name === "limit" || formerFilters.includes(name);
  const given = Object.entries(query).filter(([, value]) => value !== undefined);
  if (body === null || given.every(([name]) => isFormer(name)) || body.includes(NEXT_CURSOR)) return body;
  throw new DependencyError(`${path}: a process of release 0.1.0 answered, which ignores cursors and filters`);
}
