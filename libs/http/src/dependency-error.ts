/**
 * Something this process depends on could not do its part: it was not reached, took too long, or
 * failed. The caller may try again: answered as 500 DEPENDENCY_UNAVAILABLE with Retry-After
 * (decisions, 1.5).
 */
export class DependencyError extends Error {
  override readonly name = "DependencyError";
  /** The status it answered with, where it answered at all. */
  readonly status: number | undefined;

  constructor(message: string, options: { status?: number; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.status = options.status;
  }
}
