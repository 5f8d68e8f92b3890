/**
 * A problem of this machine, for example a missing program. The message says what is wrong and, if
 * possible, what to do. It is shown without a stack trace.
 */
export class LocalError extends Error {
  override readonly name = "LocalError";
}

/** The message of any thrown value. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
