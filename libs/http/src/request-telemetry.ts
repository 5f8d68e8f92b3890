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
  const tracing = isTracing();
  const measuring = isMeasuring();
  if (!tracing && !measuring) return;
  app.addHook("onRequest", (request, reply, done) => {
    if (UNOBSERVED.has(routeOf(request))) return done();
    const span = tracing ? startSpanOf(request) : null;
    if (measuring || span?.recorded === true) {
      const startedMs = performance.now();
      // Told of every end, a broken connection too; Fastify's own hook for it costs several times as much.
      reply.raw.once("close", () => {
        const { statusCode } = reply;
        span?.end({ [ATTRIBUTE.httpStatus]: statusCode }, statusCode >= SERVER_ERRORS_FROM);
        if (!measuring) return;
        const attributes = { ...attributesOf(request), [ATTRIBUTE.httpStatus]: statusCode };
        duration.record((performance.now() - startedMs) / MS_PER_SECOND, attributes);
      });
    }
    // Fastify itself brings the handler back here after it has read the body.
    if (span === null) done();
    else span.run(done);
  });
}

function startSpanOf(request: FastifyRequest): RequestSpan | null {
  const given = request.headers[TRACEPARENT_HEADER];
  const parent = typeof given === "string" ? given : undefined;
  const span = startRequestSpan(`${request.method} ${routeOf(request)}`, parent, request.id);
  if (span?.recorded === true) span.set({ ...attributesOf(request), [ATTRIBUTE.requestId]: request.id });
  return span;
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
