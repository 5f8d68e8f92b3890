/** Routes between services as `contracts` declares them: how an owner serves them, and how a caller calls them. */
import {
  type DeepReadonly,
  type InternalRoute,
  pathOf,
  pathSchema,
  type RouteAddress,
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
 * Serves a route: parses path, query and body in this order, and answers what `handle` returns with the status of the
 * declaration. A request that does not match the declaration is 400 with the issues of its first part that does not.
 */
export function serve<R extends InternalRoute>(
  app: FastifyInstance,
  route: R,
  handle: (input: RouteInput<R>, request: FastifyRequest, reply: FastifyReply) => Answer<R> | Promise<Answer<R>>,
): void {
  serveRaw(app, route, handle);
}

/** Serves a route whose handler sends the answer itself: rendered text, a stream, or a status of its own. */
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

/** What is sent to a route. */
export type RouteCall<R extends InternalRoute> = RouteRequest<R> & RouteAddress & { readonly body?: unknown };

/** Calls a route and parses its answer; every status but 2xx is a DependencyError. */
export function callRoute<R extends InternalRoute>(
  client: InternalClient,
  route: R,
  request: RouteCall<R>,
  options?: CallOptions,
): Promise<z.output<R["answer"]>> {
  const answer = route.answer as z.ZodType<z.output<R["answer"]>>;
  return client.json(route.method, pathOf(route, request), request.body, answer, options);
}

/** Calls a route whose answer is not parsed here: its status and bytes. */
export function callRouteRaw<R extends InternalRoute>(
  client: InternalClient,
  route: R,
  request: RouteCall<R>,
  options?: CallOptions,
): Promise<InternalResponse> {
  return client.request(route.method, pathOf(route, request), request.body, options);
}

/** Calls a route whose answer is read as it comes. */
export function streamRoute<R extends InternalRoute>(
  client: InternalClient,
  route: R,
  request: RouteCall<R>,
  options?: CallOptions,
): Promise<InternalStream> {
  return client.stream(route.method, pathOf(route, request), options);
}
