/** A violation: a field of a request, and the rule that it breaks. */
export interface Issue {
  /** Names of fields and positions in arrays, or the name of a header or parameter. */
  readonly path: readonly (string | number)[];
  readonly code: string;
  readonly message: string;
}

/** The details of a failed request. */
export interface KapiErrorDetails {
  /** HTTP status; null if no complete answer arrived, and in errors of `fetchEvidenceKeys`. */
  readonly status: number | null;
  /**
   * Stable code of kapi, such as `VALIDATION_FAILED`: each has a page at `/docs/errors/<code>`.
   * Without an answer of kapi, a code of the connection or of this client, such as `ECONNRESET`,
   * `TIMEOUT`, `HTTP_502` or `INVALID_ANSWER`.
   */
  readonly code: string;
  /** `X-Request-Id` of the last attempt; quote it in questions to the operator of kapi. */
  readonly requestId: string;
  /** The invalid fields, or the rejected items of a bulk; empty for other errors. */
  readonly issues?: readonly Issue[];
  /**
   * Whether the same call, with the same idempotency key, can succeed later. The client has already
   * repeated the request as often as `retry` allows. A POST without an idempotency key is repeated
   * only if it certainly had no effect.
   */
  readonly retryable: boolean;
  /** Credits that the failed request cost. */
  readonly creditsCharged?: number;
  /** Seconds to wait before a retry; null if the answer did not say. */
  readonly retryAfterS?: number | null;
  readonly cause?: unknown;
}

/**
 * A request that failed. Subclasses name the class of the failure; `message` is one line for a log,
 * with the reason, the invalid fields, the code and the request id.
 */
export class KapiError extends Error {
  /** The error text of kapi, without the details that `message` adds. */
  readonly reason: string;
  readonly status: number | null;
  readonly code: string;
  readonly requestId: string;
  readonly issues: readonly Issue[];
  readonly retryable: boolean;
  readonly creditsCharged: number;
  readonly retryAfterS: number | null;
  /** How often the client sent the request before it gave up; 1 without a retry. */
  attempts = 1;

  constructor(reason: string, details: KapiErrorDetails) {
    super(messageOf(reason, details), { cause: details.cause });
    this.name = new.target.name;
    this.reason = reason;
    this.status = details.status;
    this.code = details.code;
    this.requestId = details.requestId;
    this.issues = details.issues ?? [];
    this.retryable = details.retryable;
    this.creditsCharged = details.creditsCharged ?? 0;
    this.retryAfterS = details.retryAfterS ?? null;
  }
}

function messageOf(reason: string, { issues = [], code, requestId }: KapiErrorDetails): string {
  const violations = issues.map(issueText).join("; ");
  return `${reason}${violations && `: ${violations}`} (${code}${requestId && `, request ${requestId}`})`;
}

/** The path of the field, if there is one, and the message. */
export function issueText({ path, message }: Issue): string {
  return path.length === 0 ? message : `${path.join(".")}: ${message}`;
}

/**
 * 400: the request is invalid, or its idempotency key belongs to another request. If fields are
 * invalid, `issues` names them.
 */
export class InvalidRequestError extends KapiError {}
/**
 * 401: the management key is missing, unknown, revoked or expired, or your address is not in its
 * allowed networks.
 */
export class AuthenticationError extends KapiError {}
/** 402: the organization cannot cover the price of the request. */
export class InsufficientCreditsError extends KapiError {}
/** 403: the key lacks the scope, or access to the server. */
export class PermissionError extends KapiError {}
/** 404: there is no such resource. */
export class NotFoundError extends KapiError {}
/**
 * 409: the present state does not allow the request, or the idempotency key of a creation belongs
 * to another request. For other operations such a key gives 400.
 */
export class ConflictError extends KapiError {}
/** 429: too many requests; the answer says when to retry. */
export class RateLimitError extends KapiError {}
/**
 * 5xx: something failed at kapi, or at a proxy before it. A retry with the same idempotency key is
 * safe.
 */
export class ServerError extends KapiError {}
/**
 * No complete answer arrived, or an answer with a status below 300 was not JSON: then another
 * program, such as a proxy, sent it. kapi may have accepted a mutation: repeat the call with the
 * same idempotency key. `fetchEvidenceKeys` also throws this error for any answer without keys.
 */
export class ConnectionError extends KapiError {}

/** Whether kapi itself says that an account does not exist. A 404 of a proxy does not say that. */
export function isAccountGone(error: unknown): boolean {
  // A removed server has no accounts.
  return error instanceof NotFoundError && ["ACCOUNT_NOT_FOUND", "SERVER_NOT_FOUND"].includes(error.code);
}

const BY_STATUS: Readonly<Record<number, typeof KapiError>> = {
  400: InvalidRequestError,
  401: AuthenticationError,
  402: InsufficientCreditsError,
  403: PermissionError,
  404: NotFoundError,
  409: ConflictError,
  429: RateLimitError,
};

/** Returns the error of an answer with this status. */
export function errorOfStatus(status: number, reason: string, details: Omit<KapiErrorDetails, "status">): KapiError {
  const Type = BY_STATUS[status] ?? (status >= 500 ? ServerError : KapiError);
  return new Type(reason, { ...details, status });
}
