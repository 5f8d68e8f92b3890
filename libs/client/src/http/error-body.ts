import type { Issue } from "../errors.ts";

/** What the body of an error answer says. */
interface ErrorBody {
  readonly error: string | undefined;
  readonly code: string | undefined;
  readonly issues: readonly Issue[];
}

/**
 * Reads the body of an error answer. A proxy may have sent the body, with any text. Members and
 * issues that do not have the form that kapi sends are left out.
 */
export function parseErrorBody(text: string): ErrorBody {
  const { error, code, issues } = membersOf(text);
  return {
    error: typeof error === "string" ? error : undefined,
    code: typeof code === "string" ? code : undefined,
    issues: Array.isArray(issues) ? issues.filter(isIssue) : [],
  };
}

function membersOf(text: string): { error?: unknown; code?: unknown; issues?: unknown } {
  try {
    return (JSON.parse(text) as object | null) ?? {};
  } catch {
    return {};
  }
}

function isIssue(value: unknown): value is Issue {
  const { path, code, message } = (value ?? {}) as Partial<Issue>;
  return Array.isArray(path) && typeof code === "string" && typeof message === "string";
}
