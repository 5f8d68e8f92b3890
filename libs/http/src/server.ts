import { HEADERS } from "@kapi/contracts";
import { type Clock, systemClock } from "@kapi/kernel";
import type { Health, Logger } from "@kapi/runtime";
import { fastify, type FastifyInstance } from "fastify";

import { ApiError } from "./api-error.ts";
import { type BodyErrors, installBodyParser, normalizeContentType } from "./body.ts";
import { answerBrokenHttp, sendError, toApiError } from "./error-answers.ts";
import { registerHealthRoutes } from "./health-routes.ts";
import { installMetricsRoute } from "./metrics-route.ts";
import { createRequestIds } from "./request-id.ts";
import { type Callers, installRequestTelemetry } from "./request-telemetry.ts";

/** Maximum time in which a whole request, head and body, must arrive, in milliseconds. */
const REQUEST_ARRIVAL_TIMEOUT_MS = 30_000;
/** How often connections are checked for late requests, in milliseconds. */
const ARRIVAL_CHECK_INTERVAL_MS = 1_000;
/**
 * How long an idle connection is kept, in milliseconds. kapi's own HTTP client closes it earlier.
 */
export const SERVER_KEEP_ALIVE_MS = 75_000;
/**
 * Idle timeout of a connection with a running request, in milliseconds. The caller can have become
 * unreachable without closing the connection.
 */
const SOCKET_IDLE_TIMEOUT_MS = 60_000;
/**
 * Maximum length of a path parameter, in characters; a longer one is 404. The limits of the schemas
 * are lower, so a parameter that only exceeds its schema's limit is 400 with issues.
 */
const MAX_PATH_PARAMETER_CHARACTERS = 8_192;

/**
 * How one HTTP server differs from others. The defaults are for services that only kapi's own
 * services call.
 */
export interface HttpServerOptions {
  readonly logger: Logger;
  readonly health: Health;
  /** For generated request ids. Default: the clock of the machine. */
  readonly clock?: Clock;
  /** When a malformed body is rejected; `at-once` by default. */
  readonly bodyErrors?: BodyErrors;
  /**
   * Which of /livez and /readyz are served; both by default. /metrics is served with `both`, if
   * this process has metrics and METRICS_PORT is not set.
   */
  readonly probes?: "both" | "liveness";
  /**
   * Addresses or networks of proxies whose X-Forwarded-… headers are trusted; none by default.
   */
  readonly trustedProxies?: readonly string[];
  /**
   * Maximum time in which a whole request must arrive, in milliseconds, above 1,000; 30 s by
   * default.
   */
  readonly arrivalTimeoutMs?: number;
  /**
   * Who sends requests; `services` by default. The `traceparent` of callers from outside does not
   * decide what is recorded.
   */
  readonly callers?: Callers;
  /**
   * Whether an error other than DependencyError means that a dependency is down. The answer is then
   * DEPENDENCY_UNAVAILABLE with Retry-After.
   */
  readonly isDependencyFailure?: (error: unknown) => boolean;
}

/**
 * Creates a Fastify instance with errors in the interface's form, X-Request-Id on every response,
 * the body parser of this library, and the routes /livez, /readyz and /metrics (see `probes`).
 * Schemas and the logger of Fastify are not used: they would cost time per request.
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
    // While stopping, requests on open connections are still served: the interface has no 503.
    return503OnClosing: false,
    routerOptions: { maxParamLength: MAX_PATH_PARAMETER_CHARACTERS },
    exposeHeadRoutes: false,
    clientErrorHandler: (error, socket) => answerBrokenHttp(error, socket, requestIdOf({ headers: {} })),
    // A path that cannot be decoded matches no route.
    frameworkErrors: (error, request, reply) => {
      reply.header(HEADERS.requestId, request.id);
      sendError(new ApiError("NOT_FOUND", { cause: error }), request, reply, logger);
    },
  });
  installRequestTelemetry(app, options.callers ?? "services");
  if (options.probes !== "liveness") installMetricsRoute(app);
  app.addHook("onRequest", (request, reply, done) => {
    reply.header(HEADERS.requestId, request.id);
    // The next request needs a new connection, which leads to a process that is not stopping.
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
  registerHealthRoutes(app, health, options.probes ?? "both");
  return app;
}

/**
 * Options of Node's `createServer` that close a connection whose request has not arrived within
 * `timeoutMs`.
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
