import { type ErrorBody, type ErrorCode, ERRORS, HEADERS, type Issue } from "@kapi/contracts";

/** Retry-After of a request above its organization's share, in seconds. */
const SHARE_RETRY_AFTER_SECONDS = "1";

/** Details of an error besides its entry in the table of errors. */
export interface ApiErrorOptions {
  /** The public text, if the table's text has a `<…>` to fill in or is less exact. */
  readonly text?: string;
  /**
   * The status, if it differs from the table, such as 409 for a reused key on create and bulk
   * (decisions, 2.3).
   */
  readonly status?: number;
  readonly issues?: readonly Issue[];
  /** Headers of the response, such as Retry-After. */
  readonly headers?: Readonly<Record<string, string>>;
  /** The cause, for the log only. */
  readonly cause?: unknown;
}

/**
 * An error response: its code is in the closed table of errors, which gives status and text
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

  /** The response body of the request; it has `issues` if the error has them. */
  body(requestId: string): ErrorBody {
    const body = { error: this.message, code: this.code, requestId };
    return this.issues === undefined ? body : { ...body, issues: this.issues };
  }
}

/**
 * The error of a request above its organization's share: 429 with Retry-After, not billed
 * (decisions, 1.7).
 */
export function tooManyConcurrentRequests(cause?: unknown): ApiError {
  const headers = { [HEADERS.retryAfter]: SHARE_RETRY_AFTER_SECONDS };
  return new ApiError("TOO_MANY_CONCURRENT_REQUESTS", { headers, cause });
}
