/**
 * A dependency of this process was unreachable, too slow, or failed. The caller may retry: the
 * response is 500 DEPENDENCY_UNAVAILABLE with Retry-After (decisions, 1.5).
 */
export class DependencyError extends Error {
  override readonly name = "DependencyError";
  /** The error code of a response to {@link InternalClient.json}, if the response had one. */
  readonly code: string | undefined;

  constructor(message: string, options: { code?: string | undefined; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = options.code;
  }
}
