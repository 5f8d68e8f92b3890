import { STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";

import { HEADERS } from "@kapi/contracts";
import type { Logger } from "@kapi/runtime";
import type { FastifyReply, FastifyRequest } from "fastify";

import { ApiError } from "./api-error.ts";
import { DependencyError } from "./dependency-error.ts";

/** The content type of every error response. */
export const JSON_CONTENT_TYPE = "application/json; charset=utf-8";
/** Retry-After while a dependency is down, in seconds (decisions, 1.5). */
const RETRY_AFTER_SECONDS = "1";

/** Maps every thrown error to the error response. */
export function toApiError(error: unknown, isDependencyFailure: (error: unknown) => boolean): ApiError {
  if (error instanceof ApiError) return error;
  if (error instanceof DependencyError || isDependencyFailure(error)) {
    const headers = { [HEADERS.retryAfter]: RETRY_AFTER_SECONDS };
    return new ApiError("DEPENDENCY_UNAVAILABLE", { headers, cause: error });
  }
  return isFastifyClientError(error)
    ? new ApiError("VALIDATION_FAILED", { cause: error })
    : new ApiError("INTERNAL", { cause: error });
}

/** Sends the error response. A 5xx is logged with its cause. */
export function sendError(error: ApiError, request: FastifyRequest, reply: FastifyReply, logger: Logger): void {
  if (error.status >= 500) {
    const entry = {
      requestId: request.id,
      method: request.method,
      route: request.routeOptions.url,
      err: error.cause ?? error,
    };
    if (error.code === "INTERNAL") logger.error(entry, "request failed");
    else logger.warn(entry, "request failed: a dependency is unavailable");
  }
  reply.code(error.status).header("content-type", JSON_CONTENT_TYPE).header(HEADERS.errorCode, error.code);
  if (error.headers !== undefined) reply.headers(error.headers);
  reply.send(JSON.stringify(error.body(request.id)));
}

/**
 * Answers malformed HTTP, or a request that did not arrive in time, and closes the connection. A
 * connection that the caller has reset gets no answer.
 */
export function answerBrokenHttp(error: NodeJS.ErrnoException, socket: Duplex, requestId: string): void {
  if (error.code === "ECONNRESET" || !socket.writable) {
    socket.destroy();
    return;
  }
  // The request may be late because this process was paused, so the caller may retry.
  const isLate = error.code === "ERR_HTTP_REQUEST_TIMEOUT";
  const answer = isLate
    ? new ApiError("DEPENDENCY_UNAVAILABLE")
    : new ApiError("VALIDATION_FAILED", { text: "The request is not valid HTTP" });
  const body = JSON.stringify(answer.body(requestId));
  const head = [
    `HTTP/1.1 ${answer.status} ${STATUS_CODES[answer.status]}`,
    ...(isLate ? [`${HEADERS.retryAfter}: ${RETRY_AFTER_SECONDS}`] : []),
    `content-type: ${JSON_CONTENT_TYPE}`,
    `content-length: ${Buffer.byteLength(body)}`,
    `${HEADERS.errorCode}: ${answer.code}`,
    `${HEADERS.requestId}: ${requestId}`,
    "connection: close",
  ];
  socket.end(`${head.join("\r\n")}\r\n\r\n${body}`);
}

/** Whether Fastify itself rejected the request, for example for a malformed header. */
function isFastifyClientError(error: unknown): boolean {
  if (!(error instanceof Error) || !("code" in error) || !("statusCode" in error)) return false;
  const { code, statusCode } = error;
  return typeof code === "string" && code.startsWith("FST_ERR_") && typeof statusCode === "number" && statusCode < 500;
}
