/**
 * Serves and calls the internal routes that `contracts` declares (`libs/contracts/src/internal`).
 */
import {
  type DeepReadonly,
  type InternalRoute,
  pathOf,
  pathSchema,
  type RouteInput,
  type RouteRequest,
} from "@kapi/contracts";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { z } from "zod";

import type { InternalResponse } from "./call.ts";
import type { CallOptions, InternalClient, InternalStream } from "./internal-client.ts";
import { parse } from "./parse.ts";

type Answer<R extends InternalRoute> = DeepReadonly<z.input<R["answer"]>>;

/**
 * Serves a route: parses path, query and body in this order, and sends the result of `handle` with
 * the declared status. The first part that does not match the route is 400 with its issues.
 */
export function serve<R extends InternalRoute>(
  app: FastifyInstance,
  route: R,
  handle: (input: RouteInput<R>, request: FastifyRequest, reply: FastifyReply) => Answer<R> | Promise<Answer<R>>,
): void {
  serveRaw(app, route, handle);
}

/**
 * Serves a route whose handler sends the response itself: rendered text, a stream, or another
 * status.
 */
export function serveRaw<R extends InternalRoute>(
  app: FastifyInstance,
  route: R,
  handle: (input: RouteInput<R>, request: FastifyRequest, reply: FastifyReply) => unknown,
): void {
  const { method, path, query, body, success } = route;
  const params = pathSchema(route);
  app.route({
    method,
    url: path,
    handler: (request, reply) => {
      const input = {
        params: params === null ? {} : parse(params, request.params),
        query: query === undefined ? undefined : parse(query, request.query),
        body: body === undefined ? undefined : parse(body, request.body),
      };
      if (success !== undefined) void reply.code(success);
      return handle(input as RouteInput<R>, request, reply);
    },
  });
}

/**
 * Calls a route and parses its response.
 * @throws DependencyError if the call fails, for a status other than 2xx, and for a body that does
 * not match the schema; ApiError TOO_MANY_CONCURRENT_REQUESTS above the organization's share.
 */
export function callRoute<R extends InternalRoute>(
  client: InternalClient,
  route: R,
  request: RouteRequest<R>,
  options?: CallOptions,
): Promise<z.output<R["answer"]>> {
  const answer = route.answer as z.ZodType<z.output<R["answer"]>>;
  return client.json(route.method, pathOf(route, request), request.body, answer, options);
}

/**
 * Calls a route and returns the response, for callers that pass it on or handle some statuses
 * themselves.
 */
export function callRouteRaw<R extends InternalRoute>(
  client: InternalClient,
  route: R,
  request: RouteRequest<R>,
  options?: CallOptions,
): Promise<InternalResponse> {
  return client.request(route.method, pathOf(route, request), request.body, options);
}

/** Calls a route and returns its response as a stream. */
export function streamRoute<R extends InternalRoute>(
  client: InternalClient,
  route: R,
  request: RouteRequest<R>,
  options?: CallOptions,
): Promise<InternalStream> {
  return client.stream(route.method, pathOf(route, request), options);
}
