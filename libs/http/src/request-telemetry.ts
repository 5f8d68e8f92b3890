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

/** What probes and collectors ask for is no work of anybody's. */
const UNOBSERVED: ReadonlySet<string> = new Set(["/livez", "/readyz", "/metrics"]);
const SERVER_ERRORS_FROM = 500;
const MS_PER_SECOND = 1_000;
/** What a request is called that no route takes: a path would be a name that its caller chooses. */
const NO_ROUTE = "(none)";

/**
 * Who sends the requests of a server. Of other services the decision to record a trace is kept. The
 * `traceparent` of callers from outside decides nothing: one could have every request recorded, or
 * none.
 */
export type Callers = "services" | "world";

declare module "fastify" {
  interface FastifyContextConfig {
    /** The operation of the interface that the route serves, for its spans and metrics. */
    operation?: string;
  }
}

const duration = histogram(
  "http.server.request.duration",
  "Requests that were answered: how many and how long, by `kapi.operation` (of the gateway), method, route and status",
  "s",
);

/** What there is to say of the requests of one method on one route; made at the first of them. */
interface Described {
  readonly name: string;
  readonly attributes: Readonly<Record<string, string>>;
  /** The attributes of an answer, by its status. */
  readonly answers: Map<number, Readonly<Record<string, string | number>>>;
}

/** Null for a route that is not observed; by the route's `config`, of which each has its own. */
type DescribedRoutes = WeakMap<object, Map<string, Described> | null>;

/**
 * Traces and measures the requests of `app`, as far as this process does so at all; else not a
 * single hook is added.
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
      // Fires for every end, a broken connection too; Fastify's own hook for it costs several times
      // as much.
      reply.raw.once("close", () => {
        const { statusCode } = reply;
        span?.end({ [ATTRIBUTE.httpStatus]: statusCode }, statusCode >= SERVER_ERRORS_FROM);
        if (measuring)
          duration.record((performance.now() - startedMs) / MS_PER_SECOND, answered(described, statusCode));
      });
    }
    // Fastify itself brings the handler back here after it has read the body.
    if (span === null) done();
    else span.run(done);
  });
}

/**
 * Null where nothing is recorded of the request. What another service asks for without naming a
 * trace belongs to none.
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
 * Fastify puts its `routeOptions` together anew each time that they are asked for, so they are
 * asked for once.
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
