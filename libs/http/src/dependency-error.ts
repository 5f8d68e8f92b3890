/**
 * A dependency of this process was unreachable, too slow, or failed. The caller may retry: the
 * response is 500 DEPENDENCY_UNAVAILABLE with Retry-After (decisions, 1.5).
 */
export class DependencyError extends Error {
  override readonly name = "DependencyError";
  /** HTTP status of the dependency's answer, for the log; undefined if none was given. */
  readonly status: number | undefined;

  constructor(message: string, options: { status?: number; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.status = options.status;
  }
}
