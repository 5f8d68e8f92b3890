import { ErrorBody } from "@kapi/contracts";

/** How the command line ends; shown in its help. */
export const EXIT_CODES = {
  /** The service refused what was asked. */
  refused: 1,
  /** The command is not one, or an option is missing or makes no sense. */
  usage: 2,
  /** The service, or a server behind it, cannot be reached now; the command can be made again. */
  unavailable: 3,
} as const;

/** A command that cannot be done: its message is for the one who typed it. */
export class CommandFailure extends Error {
  readonly exitCode: number;

  constructor(message: string, exitCode: number) {
    super(message);
    this.exitCode = exitCode;
  }
}

/** What `who` answered where it refused, with what it says of single fields. */
export function failureOf(who: string, status: number, text: string): CommandFailure {
  const exitCode = status >= 500 ? EXIT_CODES.unavailable : EXIT_CODES.refused;
  const body = ErrorBody.safeParse(jsonOrNull(text));
  if (!body.success) return new CommandFailure(`${who} answered ${status}.`, exitCode);
  const issues = (body.data.issues ?? []).map((issue) => `\n  ${issue.path.join(".")}: ${issue.message}`);
  return new CommandFailure(`${body.data.error} (${status})${issues.join("")}`, exitCode);
}

/** Why a request had no answer. */
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
