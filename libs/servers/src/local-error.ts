/**
 * A problem of this machine, for example a missing program. The message is one line that says what
 * to do.
 */
export class LocalError extends Error {
  override readonly name = "LocalError";
}

/** The message of any thrown value. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
