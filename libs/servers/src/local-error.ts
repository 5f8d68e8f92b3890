/**
 * Something on this machine is missing or in the way; the message is one line that says what to do
 * about it.
 */
export class LocalError extends Error {
  override readonly name = "LocalError";
}

/** The message of anything that was thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
