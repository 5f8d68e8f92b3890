import { type ErrorBody, type ErrorCode, ERRORS, HEADERS, type Issue } from "@kapi/contracts";

/** What Retry-After says where an organization has its share already, in seconds. */
const SHARE_RETRY_AFTER_SECONDS = "1";

/** Details of an error besides the entry of the catalogue. */
export interface ApiErrorOptions {
  /** The public text, where the catalogue's has a `<…>` to fill in or the place knows better. */
  readonly text?: string;
  /**
   * Another status than the catalogue's: a reused key is 409 on create and bulk (decisions, 2.3).
   */
  readonly status?: number;
  readonly issues?: readonly Issue[];
  /** Headers of the answer, such as Retry-After. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Why, for the log only. */
  readonly cause?: unknown;
}

/**
 * An answer that is an error: a code of the closed catalogue, which gives status and text
 * (decisions, 1.2).
 */
export class ApiError extends Error {
  override readonly name = "ApiError";
  readonly code: ErrorCode;
  readonly status: number;
  readonly issues: readonly Issue[] | undefined;
  readonly headers: Readonly<Record<string, string>> | undefined;

  constructor(code: ErrorCode, options: ApiErrorOptions = {}) {
    const entry = ERRORS[code];
    super(options.text ?? entry.text, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.status = options.status ?? entry.status;
    this.issues = options.issues;
    this.headers = options.headers;
  }

  /**
   * The body of the answer: `error`, and `issues` when a schema refused the request; nothing else.
   */
  body(): ErrorBody {
    return this.issues === undefined ? { error: this.message } : { error: this.message, issues: this.issues };
  }
}

/**
 * The answer above an organization's share of something: 429, not billed, to be sent again
 * (decisions, 1.7).
 */
export function tooManyConcurrentRequests(cause?: unknown): ApiError {
  const headers = { [HEADERS.retryAfter]: SHARE_RETRY_AFTER_SECONDS };
  return new ApiError("TOO_MANY_CONCURRENT_REQUESTS", { headers, cause });
}
