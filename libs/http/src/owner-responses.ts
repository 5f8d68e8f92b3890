import { ErrorBody, type ErrorCode, ERRORS, HEADERS, type Issue } from "@kapi/contracts";

import { ApiError } from "./api-error.ts";
import type { InternalResponse } from "./call.ts";
import { DependencyError } from "./dependency-error.ts";

/** The error of an upstream response with a status that the route does not have. */
export function unexpectedStatus(path: string, status: number): DependencyError {
  return new DependencyError(`${path} was answered with ${status}`);
}

/**
 * The validation issues of an upstream 400 response; null for any other status, or without issues.
 */
export function issuesFromResponse({
  status,
  body,
}: Pick<InternalResponse, "status" | "body">): readonly Issue[] | null {
  if (status !== ERRORS.VALIDATION_FAILED.status) return null;
  return ErrorBody.safeParse(jsonOf(body)).data?.issues ?? null;
}

/** The error code of a response; undefined if no service of kapi sent the response. */
export function errorCodeOf({ headers }: Pick<InternalResponse, "headers">): string | undefined {
  const code = headers[HEADERS.errorCode];
  return typeof code === "string" ? code : undefined;
}

/**
 * The upstream error to pass on to the caller: code (from the header), text, issues and
 * Retry-After.
 * @throws DependencyError if the response has no code of the table of errors, or not the body of an
 * error.
 */
export function errorFromResponse(path: string, response: InternalResponse): ApiError {
  const { status, headers, body } = response;
  const code = errorCodeOf(response);
  const parsed = ErrorBody.safeParse(jsonOf(body));
  if (code === undefined || !isErrorCode(code) || !parsed.success) throw unexpectedStatus(path, status);
  const { error: text, issues } = parsed.data;
  const retryAfter = headers[HEADERS.retryAfter];
  return new ApiError(code, {
    status,
    text,
    ...(issues === undefined ? {} : { issues }),
    ...(retryAfter === undefined ? {} : { headers: { [HEADERS.retryAfter]: retryAfter } }),
  });
}

function isErrorCode(code: string): code is ErrorCode {
  return Object.hasOwn(ERRORS, code);
}

function jsonOf(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString("utf8"));
  } catch {
    return undefined;
  }
}
