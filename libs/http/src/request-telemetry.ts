import {
  ATTRIBUTE,
  histogram,
  isMeasuring,
  isTracing,
  type RequestSpan,
  startRequestSpan,
  TRACEPARENT_HEADER,
} from "@kapi/runtime";
import type { FastifyInstance, FastifyRequest } from "fastify";

import { INTERNAL_TOKEN_HEADER } from "./internal-auth.ts";
import { SERVICE_TOKEN_HEADER } from "./service-callers.ts";

/** Routes of probes and collectors, which are neither traced nor measured. */
const UNOBSERVED: ReadonlySet<string> = new Set(["/livez", "/readyz", "/metrics"]);
const SERVER_ERRORS_FROM = 500;
const MS_PER_SECOND = 1_000;
/**
 * Route name of requests without a route: with the path, callers could create any number of names.
 */
const NO_ROUTE = "(none)";

/**
 * Who sends the requests of a server. `services`: the caller's decision to record a trace is kept.
 * `world`: the `traceparent` does not decide, else a caller could have every request recorded, or
 * none.
 */
export type Callers = "services" | "world";

declare module "fastify" {
  interface FastifyContextConfig {
    /** The operation id of the interface, for spans and metrics. */
    operation?: string;
  }
}

const duration = histogram(
  "http.server.request.duration",
  "Duration of requests, to the end of the response, by `kapi.operation` (only of the gateway), `http.request.method`, `http.route` and `http.response.status_code`",
  "s",
);

/**
 * Span name and attributes of the requests of one method on one route; created at the first
 * request.
 */
interface Described {
  readonly name: string;
  readonly attributes: Readonly<Record<string, string>>;
  /** The attributes of a response, by status. */
  readonly answers: Map<number, Readonly<Record<string, string | number>>>;
}

/** By the `config` object of the route, which is unique; null for a route that is not observed. */
type DescribedRoutes = WeakMap<object, Map<string, Described> | null>;

/**
 * Traces and measures the requests of `app`. Adds no hook if this process does neither.
 */
export function installRequestTelemetry(app: FastifyInstance, callers: Callers): void {
  const tracing = isTracing();
  const measuring = isMeasuring();
  if (!tracing && !measuring) return;
  const routes: DescribedRoutes = new WeakMap();
  app.addHook("onRequest", (request, reply, done) => {
    const described = describe(routes, request);
    if (described === null) return done();
    const span = tracing ? startSpanOf(request, described, callers) : null;
    if (measuring || span !== null) {
      const startedMs = performance.now();
      // `close` is emitted once for every response, also if the connection breaks. Fastify's own
      // hook costs several times as much.
      reply.raw.once("close", () => {
        const { statusCode } = reply;
        span?.end({ [ATTRIBUTE.httpStatus]: statusCode }, statusCode >= SERVER_ERRORS_FROM);
        if (measuring)
          duration.record((performance.now() - startedMs) / MS_PER_SECOND, answered(described, statusCode));
      });
    }
    // Fastify runs the handler in this context after it has read the body.
    if (span === null) done();
    else span.run(done);
  });
}

/**
 * Null if the request is not recorded. With the callers `services`, a request of another service
 * is recorded only if it has a `traceparent`: without one it belongs to no trace.
 */
function startSpanOf(request: FastifyRequest, { name, attributes }: Described, callers: Callers): RequestSpan | null {
  const given = request.headers[TRACEPARENT_HEADER];
  const parent = typeof given === "string" ? given : undefined;
  const isOurs = callers === "services";
  if (isOurs && parent === undefined && isOfService(request)) return null;
  const span = startRequestSpan(name, parent, request.id, isOurs ? "parent" : "here");
  span?.set({ ...attributes, [ATTRIBUTE.requestId]: request.id });
  return span;
}

function isOfService({ headers }: FastifyRequest): boolean {
  return headers[SERVICE_TOKEN_HEADER] !== undefined || headers[INTERNAL_TOKEN_HEADER] !== undefined;
}

/**
 * Reads `routeOptions` once: Fastify builds them at each access.
 */
function describe(routes: DescribedRoutes, request: FastifyRequest): Described | null {
  const { config, url = NO_ROUTE } = request.routeOptions;
  let methods = routes.get(config);
  if (methods === undefined) {
    methods = UNOBSERVED.has(url) ? null : new Map<string, Described>();
    routes.set(config, methods);
  }
  if (methods === null) return null;
  const { method } = request;
  let described = methods.get(method);
  if (described === undefined) {
    const { operation } = config;
    const attributes = {
      [ATTRIBUTE.httpMethod]: method,
      [ATTRIBUTE.httpRoute]: url,
      ...(operation === undefined ? {} : { [ATTRIBUTE.operation]: operation }),
    };
    described = { name: `${method} ${url}`, attributes, answers: new Map() };
    methods.set(method, described);
  }
  return described;
}

function answered({ attributes, answers }: Described, status: number): Readonly<Record<string, string | number>> {
  let known = answers.get(status);
  if (known === undefined) {
    known = { ...attributes, [ATTRIBUTE.httpStatus]: status };
    answers.set(status, known);
  }
  return known;
}
