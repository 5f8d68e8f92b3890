import { z } from "zod";

/**
 * The closed table of public errors: code (header `X-Error-Code`) → status and text
 * (interface, "Errors"; decisions, 1.2). A function that raises an error fills in `<…>`. It can
 * also replace the text with a more exact one, and the status with another one.
 */
export const ERRORS = {
  VALIDATION_FAILED: { status: 400, text: "Invalid request" },
  INVALID_JSON: { status: 400, text: "The request body is not valid JSON" },
  UNSUPPORTED_CONTENT_TYPE: { status: 400, text: "The request body must be application/json" },
  BODY_TOO_LARGE: { status: 400, text: "The request body is larger than 1 MiB" },
  IDEMPOTENCY_KEY_REUSED: { status: 400, text: "Idempotency-Key was already used for a different request" },
  LEVERAGE_NOT_SUPPORTED: { status: 400, text: "The server does not support this leverage" },
  WEBHOOK_URL_REFUSED: { status: 400, text: "The address cannot be used: <reason>" },
  TOO_MANY_ENDPOINTS: { status: 400, text: "An organization has at most 20 webhook endpoints" },
  TOO_MANY_EVENTS: {
    status: 400,
    text: "A replay has at most 20000 events: choose a shorter period, or read the event feed",
  },
  ENDPOINT_DISABLED: { status: 400, text: "The webhook endpoint is disabled" },
  AUTHENTICATION_REQUIRED: { status: 401, text: "Management API authentication required" },
  INSUFFICIENT_CREDITS: { status: 402, text: "Insufficient API credits" },
  MISSING_SCOPE: { status: 403, text: "Missing API scope: <scope>" },
  MISSING_SERVER_ACCESS: { status: 403, text: "Missing server access: <serverId>" },
  MISSING_PERMISSION: { status: 403, text: "Your role does not allow this: <permission>" },
  TOO_MANY_CONNECTIONS: { status: 403, text: "Too many live connections for this organization" },
  CROSS_SITE_REQUEST: { status: 403, text: "The request does not come from the console's own page" },
  NOT_FOUND: { status: 404, text: "Not found" },
  ACCOUNT_NOT_FOUND: { status: 404, text: "Trading account not found" },
  COMMAND_NOT_FOUND: { status: 404, text: "Command not found" },
  SERVER_NOT_FOUND: { status: 404, text: "Server not found" },
  DIGEST_NOT_FOUND: { status: 404, text: "There are no digests of this day" },
  ENDPOINT_NOT_FOUND: { status: 404, text: "Webhook endpoint not found" },
  DELIVERY_NOT_FOUND: { status: 404, text: "Webhook delivery not found" },
  BREACH_NOT_FOUND: { status: 404, text: "Breach not found" },
  EVIDENCE_NOT_FOUND: { status: 404, text: "There is no evidence of this breach" },
  RISK_TEMPLATE_NOT_FOUND: { status: 404, text: "Risk template not found" },
  WALLET_NOT_FOUND: { status: 404, text: "Credit wallet not found" },
  METHOD_NOT_ALLOWED: { status: 405, text: "Method not allowed" },
  SERVER_DISABLED: { status: 409, text: "The server is disabled" },
  VERSION_CHANGED: {
    status: 409,
    text: "The rules were changed by somebody else: the current version is <version>. Reload and try again",
  },
  ACCOUNT_QUOTA_REACHED: { status: 409, text: "The account quota of the organization is reached" },
  EVIDENCE_PENDING: { status: 409, text: "The evidence of this breach is not complete yet" },
  DIGEST_NOT_READY: { status: 409, text: "The digests of this day are not complete yet" },
  RATE_LIMITED: { status: 429, text: "Rate limit exceeded" },
  TOO_MANY_CONCURRENT_REQUESTS: { status: 429, text: "Too many concurrent requests" },
  INTERNAL: { status: 500, text: "Internal server error" },
  DEPENDENCY_UNAVAILABLE: { status: 500, text: "Internal server error" },
} as const satisfies Record<string, { status: number; text: string }>;

export type ErrorCode = keyof typeof ERRORS;

/**
 * What is wrong with one field of a request: the path of the field, a code, and a message. The path
 * is empty if the fault is not in one field.
 */
export const Issue = z
  .object({ path: z.array(z.union([z.string(), z.number()])).readonly(), code: z.string(), message: z.string() })
  .readonly();
export type Issue = z.infer<typeof Issue>;

/**
 * Body of every error answer (decisions, 1.2). `code` and `requestId` are optional, because during
 * an upgrade services also read answers of release 0.1.0, which has neither.
 */
export const ErrorBody = z
  .object({
    error: z.string(),
    /** Equal to the header `X-Error-Code`. */
    code: z.string().optional(),
    /** Equal to the header `X-Request-Id`. */
    requestId: z.string().optional(),
    issues: z.array(Issue).readonly().optional(),
  })
  .readonly();
export type ErrorBody = z.infer<typeof ErrorBody>;

/** Names of headers of requests and answers (decisions, 1.6 and 2.3). */
export const HEADERS = {
  requestId: "x-request-id",
  errorCode: "x-error-code",
  creditsCharged: "x-credits-charged",
  creditsRemaining: "x-credits-remaining",
  idempotentReplayed: "idempotent-replayed",
  idempotencyKey: "idempotency-key",
  retryAfter: "retry-after",
} as const;
