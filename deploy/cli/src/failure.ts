import { ErrorBody } from "@kapi/contracts";

/** Exit codes of the command line; shown in its help. */
export const EXIT_CODES = {
  /** The service rejected the request. */
  refused: 1,
  /** The command is unknown, or an option is missing or invalid. */
  usage: 2,
  /** The service, or one of its dependencies, is unavailable; the command can be retried. */
  unavailable: 3,
} as const;

/** A command of the command line that failed; its message is shown to the user. */
export class CommandFailure extends Error {
  readonly exitCode: number;

  constructor(message: string, exitCode: number) {
    super(message);
    this.exitCode = exitCode;
  }
}

/** An error response of the service `who` as a failure, with one line for each invalid field. */
export function failureOf(who: string, status: number, text: string): CommandFailure {
  const exitCode = status >= 500 ? EXIT_CODES.unavailable : EXIT_CODES.refused;
  const body = ErrorBody.safeParse(jsonOrNull(text));
  if (!body.success) return new CommandFailure(`${who} answered ${status}.`, exitCode);
  const issues = (body.data.issues ?? []).map((issue) => `\n  ${issue.path.join(".")}: ${issue.message}`);
  return new CommandFailure(`${body.data.error} (${status})${issues.join("")}`, exitCode);
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
