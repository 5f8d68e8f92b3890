import type { Issue } from "@kapi/contracts";
import type { z } from "zod";

import { ApiError } from "./api-error.ts";

/**
 * Maximum number of issues in one response: a body of 1 MiB can have some hundred thousand
 * violations.
 */
export const MAX_ISSUES = 100;

type Path = readonly (string | number)[];

/**
 * Parses a value of a caller by the schema.
 * @param path prefix of the path of each issue, such as the name of a path parameter; empty for a
 * body.
 * @throws ApiError VALIDATION_FAILED with the issues. If `value` is an ApiError, throws this error:
 * with the server option `bodyErrors: "when-parsed"`, an unreadable body is replaced by its error.
 */
export function parse<S extends z.ZodType>(schema: S, value: unknown, path: Path = []): z.output<S> {
  if (value instanceof ApiError) throw value;
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  throw new ApiError("VALIDATION_FAILED", { issues: issuesOf(result.error, path) });
}

/**
 * The issues of a schema in the form of the response, at most {@link MAX_ISSUES}; without the
 * caller's values.
 */
export function issuesOf(error: z.ZodError, prefix: Path = []): Issue[] {
  return error.issues.slice(0, MAX_ISSUES).map((issue) => ({
    path: [...prefix, ...issue.path.map((part) => (typeof part === "symbol" ? String(part) : part))],
    code: issue.code,
    message: issue.message,
  }));
}
