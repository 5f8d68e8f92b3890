import { ErrorBody, type ErrorCode, ERRORS, HEADERS, type Issue } from "@kapi/contracts";

import { ApiError } from "./api-error.ts";
import type { InternalResponse } from "./call.ts";
import { DependencyError } from "./dependency-error.ts";

/** An answer that no owner should give. */
export function unexpected(path: string, status: number): DependencyError {
  return new DependencyError(`${path} was answered with ${status}`, { status });
}

/**
 * What an owner found wrong with a request that it answers with 400; null where the answer has no
 * issues.
 */
export function issuesOfRefusal({ status, body }: Pick<InternalResponse, "status" | "body">): readonly Issue[] | null {
  if (status !== ERRORS.VALIDATION_FAILED.status) return null;
  return ErrorBody.safeParse(jsonOf(body)).data?.issues ?? null;
}

/**
 * The error of an owner, to pass on to the caller: the code of its header, its
 * text and issues, and its Retry-After.
 * @throws DependencyError for an answer that is no error of the catalogue.
 */
export function refusalOf(path: string, { status, headers, body }: InternalResponse): ApiError {
  const code = headers[HEADERS.errorCode];
  const refusal = ErrorBody.safeParse(jsonOf(body));
  if (typeof code !== "string" || !isErrorCode(code) || !refusal.success) throw unexpected(path, status);
  const { error: text, issues } = refusal.data;
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
