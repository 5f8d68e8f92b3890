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

/** What probes and collectors ask for is no work of anybody's. */
const UNOBSERVED: ReadonlySet<string> = new Set(["/livez", "/readyz", "/metrics"]);
const SERVER_ERRORS_FROM = 500;
const MS_PER_SECOND = 1_000;
/** What a request is called that no route takes: a path would be a name that its caller chooses. */
const NO_ROUTE = "(none)";

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

/** Traces and measures the requests of `app`, as far as this process does so at all; else not a single hook is added. */
export function installRequestTelemetry(app: FastifyInstance): void {
  if (isTracing()) installTraces(app);
  if (isMeasuring()) {
    app.addHook("onResponse", (request, reply, done) => {
      if (!UNOBSERVED.has(routeOf(request))) {
        const attributes = { ...attributesOf(request), [ATTRIBUTE.httpStatus]: reply.statusCode };
        duration.record(reply.elapsedTime / MS_PER_SECOND, attributes);
      }
      done();
    });
  }
}

function installTraces(app: FastifyInstance): void {
  const spans = new WeakMap<FastifyRequest, RequestSpan>();
  app.addHook("onRequest", (request, _reply, done) => {
    const route = routeOf(request);
    if (UNOBSERVED.has(route)) return done();
    const given = request.headers[TRACEPARENT_HEADER];
    const parent = typeof given === "string" ? given : undefined;
    const attributes = { ...attributesOf(request), [ATTRIBUTE.requestId]: request.id };
    const span = startRequestSpan(`${request.method} ${route}`, parent, request.id, attributes);
    if (span === null) return done();
    spans.set(request, span);
    // Fastify itself brings the handler back here after it has read the body.
    span.run(done);
  });
  app.addHook("onResponse", (request, { statusCode }, done) => {
    spans.get(request)?.end({ [ATTRIBUTE.httpStatus]: statusCode }, statusCode >= SERVER_ERRORS_FROM);
    done();
  });
}

function attributesOf(request: FastifyRequest): Record<string, string> {
  const { operation } = request.routeOptions.config;
  return {
    [ATTRIBUTE.httpMethod]: request.method,
    [ATTRIBUTE.httpRoute]: routeOf(request),
    ...(operation === undefined ? {} : { [ATTRIBUTE.operation]: operation }),
  };
}

function routeOf(request: FastifyRequest): string {
  return request.routeOptions.url ?? NO_ROUTE;
}
