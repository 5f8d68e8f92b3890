/**
 * A dependency of this process was unreachable, too slow, or failed. The caller may retry: the
 * response is 500 DEPENDENCY_UNAVAILABLE with Retry-After (decisions, 1.5).
 */
export class DependencyError extends Error {
  override readonly name = "DependencyError";
  /**
   * The status of the response, if the error is about this status, or about JSON that does not
   * match the schema.
   */
  readonly status: number | undefined;

  constructor(message: string, options: { status?: number; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.status = options.status;
  }
}
