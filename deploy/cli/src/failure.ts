import { CommandLineError, EXIT_CODES } from "@kapi/client/cli";
import { ErrorBody } from "@kapi/contracts";

/**
 * Converts an error response of the service `who` to the error that the command line prints and
 * exits with. The error has one line for each invalid field.
 */
export function failureOf(who: string, status: number, text: string): CommandLineError {
  const exitCode = status >= 500 ? EXIT_CODES.notFinal : EXIT_CODES.failed;
  const body = ErrorBody.safeParse(jsonOrNull(text));
  if (!body.success) return new CommandLineError(`${who} answered ${status}.`, exitCode);
  const issues = (body.data.issues ?? []).map((issue) => `\n  ${issue.path.join(".")}: ${issue.message}`);
  return new CommandLineError(`${body.data.error} (${status})${issues.join("")}`, exitCode);
}

/** The reason why a request got no response, as text. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (!(error.cause instanceof Error)) return error.message;
  // When several addresses were tried, the error has only a code.
  const { message, code } = error.cause as NodeJS.ErrnoException;
  return message === "" ? (code ?? error.message) : message;
}

function jsonOrNull(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
