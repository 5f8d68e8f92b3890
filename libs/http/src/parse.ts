import type { Issue } from "@kapi/contracts";
import type { z } from "zod";

import { ApiError } from "./api-error.ts";

/**
 * Maximum number of issues in one answer: a body of 1 MiB can hold some hundred thousand mistakes.
 */
export const MAX_ISSUES = 100;

type Path = readonly (string | number)[];

/**
 * Checks a value that a caller gave and returns what the schema makes of it.
 * @param path where the value stands, put before the path of each issue; empty for a body.
 * @throws ApiError VALIDATION_FAILED with the issues; or the body's own error, where the server
 * keeps those for this moment (`bodyErrors: "when-parsed"`).
 */
export function parse<S extends z.ZodType>(schema: S, value: unknown, path: Path = []): z.output<S> {
  if (value instanceof ApiError) throw value;
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  throw new ApiError("VALIDATION_FAILED", { issues: issuesOf(result.error, path) });
}

/**
 * The issues of a schema in the form of the answer, {@link MAX_ISSUES} at most; never a value of
 * the caller's.
 */
export function issuesOf(error: z.ZodError, prefix: Path = []): Issue[] {
  return error.issues.slice(0, MAX_ISSUES).map((issue) => ({
    path: [...prefix, ...issue.path.map((part) => (typeof part === "symbol" ? String(part) : part))],
    code: issue.code,
    message: issue.message,
  }));
}
