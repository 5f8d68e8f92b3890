import { HEADERS } from "@kapi/contracts";
import { type Clock, systemClock } from "@kapi/kernel";
import type { Health, Logger } from "@kapi/runtime";
import { fastify, type FastifyInstance } from "fastify";

import { ApiError } from "./api-error.ts";
import { type BodyErrors, installBodyParser, normalizeContentType } from "./body.ts";
import { answerBrokenHttp, sendError, toApiError } from "./error-answers.ts";
import { installHealthRoutes } from "./health-routes.ts";
import { installMetricsRoute } from "./metrics-route.ts";
import { createRequestIds } from "./request-id.ts";
import { type Callers, installRequestTelemetry } from "./request-telemetry.ts";

/** How long a request may take to arrive whole, head and body, in milliseconds. */
const REQUEST_ARRIVAL_TIMEOUT_MS = 30_000;
/** How often connections are checked for requests that take longer, in milliseconds. */
const ARRIVAL_CHECK_INTERVAL_MS = 1_000;
/**
 * How long a connection may lie idle between requests, in milliseconds; longer than our own client
 * keeps one.
 */
export const SERVER_KEEP_ALIVE_MS = 75_000;
/**
 * How long nothing may move on a connection while a request is under way, in milliseconds: a reader
 * that went away.
 */
const SOCKET_IDLE_TIMEOUT_MS = 60_000;
/**
 * Longest path parameter, in characters; the schemas' own limits are stricter and answer 400 with
 * issues.
 */
const MAX_PATH_PARAMETER_CHARACTERS = 8_192;

export interface HttpServerOptions {
  readonly logger: Logger;
  readonly health: Health;
  readonly clock?: Clock;
  /** When a malformed body is rejected; `at-once` unless the handler's own checks come first. */
  readonly bodyErrors?: BodyErrors;
  /** Which of /livez and /readyz are answered; both by default. */
  readonly probes?: "both" | "liveness";
  /**
   * Addresses or networks of proxies whose X-Forwarded-… headers are believed; nobody's by default.
   */
  readonly trustedProxies?: readonly string[];
  /**
   * How long a request may take to arrive whole, in milliseconds, more than 1,000; 30 s by default.
   */
  readonly arrivalTimeoutMs?: number;
  /**
   * Who sends requests; by default `services`. The `traceparent` of callers from outside does not
   * decide what is recorded.
   */
  readonly callers?: Callers;
  /**
   * Which errors beside DependencyError mean that a dependency is down and the caller may try
   * again.
   */
  readonly isDependencyFailure?: (error: unknown) => boolean;
}

/**
 * Fastify made ours: every error in the interface's form, X-Request-Id on every answer, bodies read
 * by our rules, /livez, /readyz and (where they are asked for) /metrics. Nothing is done per
 * request that its answer does not need: no schema compilers, no logger of Fastify's.
 */
export function createHttpServer(options: HttpServerOptions): FastifyInstance {
  const { logger, health } = options;
  const isDependencyFailure = options.isDependencyFailure ?? ((): boolean => false);
  const requestIdOf = createRequestIds(options.clock ?? systemClock);
  const trustedProxies = options.trustedProxies ?? [];
  const arrival = arrivalLimits(options.arrivalTimeoutMs);
  const app: FastifyInstance = fastify({
    logger: false,
    trustProxy: trustedProxies.length > 0 ? [...trustedProxies] : false,
    genReqId: requestIdOf,
    requestTimeout: arrival.requestTimeout,
    http: arrival,
    keepAliveTimeout: SERVER_KEEP_ALIVE_MS,
    connectionTimeout: SOCKET_IDLE_TIMEOUT_MS,
    // While stopping, requests on open connections are still answered: 503 is no status of the
    // interface.
    return503OnClosing: false,
    routerOptions: { maxParamLength: MAX_PATH_PARAMETER_CHARACTERS },
    exposeHeadRoutes: false,
    clientErrorHandler: (error, socket) => answerBrokenHttp(error, socket, requestIdOf({ headers: {} })),
    // A path that cannot be decoded names no route.
    frameworkErrors: (error, request, reply) => {
      reply.header(HEADERS.requestId, request.id);
      sendError(new ApiError("NOT_FOUND", { cause: error }), request, reply, logger);
    },
  });
  installRequestTelemetry(app, options.callers ?? "services");
  if (options.probes !== "liveness") installMetricsRoute(app);
  app.addHook("onRequest", (request, reply, done) => {
    reply.header(HEADERS.requestId, request.id);
    // Whoever sends the next request connects anew, and so comes to a process that stays.
    if (health.isStopping) reply.header("connection", "close");
    normalizeContentType(request.raw.headers);
    done();
  });
  installBodyParser(app, options.bodyErrors ?? "at-once");
  app.setErrorHandler((error, request, reply) => {
    sendError(toApiError(error, isDependencyFailure), request, reply, logger);
  });
  app.setNotFoundHandler((request, reply) => sendError(new ApiError("NOT_FOUND"), request, reply, logger));
  app.addHook("preClose", (done) => {
    health.beginStop();
    done();
  });
  if (logger.isLevelEnabled("debug")) installAnswerLog(app, logger);
  installHealthRoutes(app, health, options.probes ?? "both");
  return app;
}

/**
 * What Node's `createServer` needs so that a request that has not arrived within `timeoutMs` is cut
 * off by then.
 */
export function arrivalLimits(timeoutMs = REQUEST_ARRIVAL_TIMEOUT_MS): {
  readonly requestTimeout: number;
  readonly headersTimeout: number;
  readonly connectionsCheckingInterval: number;
} {
  const limitMs = timeoutMs - ARRIVAL_CHECK_INTERVAL_MS;
  // With a headersTimeout above requestTimeout, Node does not apply requestTimeout to a body.
  return {
    requestTimeout: limitMs,
    headersTimeout: limitMs,
    connectionsCheckingInterval: ARRIVAL_CHECK_INTERVAL_MS,
  };
}

function installAnswerLog(app: FastifyInstance, logger: Logger): void {
  app.addHook("onResponse", (request, reply, done) => {
    const { id: requestId, method, routeOptions } = request;
    const elapsedMs = Math.round(reply.elapsedTime);
    logger.debug({ requestId, method, route: routeOptions.url, status: reply.statusCode, elapsedMs }, "answered");
    done();
  });
}
