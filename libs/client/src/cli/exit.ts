import { type CommandError, CommandFailed, CommandExpired, StillRunning } from "../commands/errors.ts";
import { AuthenticationError, issueText, KapiError, PermissionError } from "../errors.ts";

/** Exit codes of the command line; `kapi help exit-codes` shows them. */
export const EXIT_CODES = {
  done: 0,
  /**
   * kapi rejected the request, the queued command failed or expired, a check found a fault, or the
   * command line failed in another way.
   */
  failed: 1,
  /** Unknown command, a missing or invalid argument or setting, or a file that cannot be read. */
  usage: 2,
  /**
   * The queued command is not final yet, the user stopped the program before its result, kapi
   * cannot be reached, or kapi answered 429 or 5xx. The same call can be repeated.
   */
  notFinal: 3,
  /**
   * The key is unknown, revoked or expired, is used from outside its allowed networks, lacks a
   * scope, or does not reach the server.
   */
  forbidden: 4,
} as const;

/** An error with the exit code of the command. Its message is shown to the user. */
export class CommandLineError extends Error {
  readonly exitCode: number;

  constructor(message: string, exitCode: number) {
    super(message);
    this.exitCode = exitCode;
  }
}

/** A wrong use of the command line. */
export class UsageError extends CommandLineError {
  constructor(message: string) {
    super(message, EXIT_CODES.usage);
  }
}

/** The command line was used correctly and failed, for example because a verification failed. */
export class Failure extends CommandLineError {
  constructor(message: string) {
    super(message, EXIT_CODES.failed);
  }
}

/** The user interrupted the program; a command that kapi accepted continues. */
export class Stopped extends CommandLineError {
  constructor(message: string) {
    super(message, EXIT_CODES.notFinal);
  }
}

/**
 * Returns the exit code of an error, and its text for people. @throws the error itself if it comes
 * neither from the command line nor from the client.
 */
export function explain(error: unknown): { readonly exitCode: number; readonly text: string } {
  if (error instanceof CommandLineError) return { exitCode: error.exitCode, text: `${error.message}\n` };
  if (error instanceof DOMException && error.name === "AbortError") {
    return {
      exitCode: EXIT_CODES.notFinal,
      text: "Stopped. A change can be sent again with the same idempotency key (--key).\n",
    };
  }
  if (error instanceof StillRunning) {
    return {
      exitCode: EXIT_CODES.notFinal,
      text: `${error.message}\n  wait for it: kapi commands wait ${error.command.id}\n`,
    };
  }
  if (error instanceof CommandFailed || error instanceof CommandExpired) {
    return { exitCode: EXIT_CODES.failed, text: `${error.message}\n  ${commandHelp(error)}\n` };
  }
  if (error instanceof KapiError) return { exitCode: exitCodeOf(error), text: textOf(error) };
  throw error;
}

function commandHelp(error: CommandError): string {
  const { status, errorCode } = error.command;
  return status === "expired"
    ? "The command had no effect: send it again with another --key, or without --key."
    : `More about this error: /docs/errors/${errorCode} of the API`;
}

function exitCodeOf(error: KapiError): number {
  if (error instanceof AuthenticationError || error instanceof PermissionError) return EXIT_CODES.forbidden;
  return error.retryable ? EXIT_CODES.notFinal : EXIT_CODES.failed;
}

function textOf(error: KapiError): string {
  const lines = [
    `${error.reason} (${error.code}${error.status === null ? "" : `, ${error.status}`})`,
    ...error.issues.map((issue) => `  ${issueText(issue)}`),
    ...(error.requestId === "" ? [] : [`  request id: ${error.requestId}`]),
  ];
  if (error.attempts > 1) lines.push(`  gave up after ${error.attempts} attempts`);
  if (error.retryable) lines.push("  Try again later. A change with the same --key is made only once.");
  if (error instanceof AuthenticationError) {
    lines.push("  Check the key in the console, and its allowed networks. Sign in with another key: kapi login");
  }
  return `${lines.join("\n")}\n`;
}
