import { type ErrorCode, ERRORS } from "../errors.ts";
import { LIVE_METRICS_SCOPE } from "../operations.ts";
import type { JsonSchema } from "../openapi/schemas.ts";
import { EXAMPLE_PARAMETERS } from "../openapi/examples.ts";
import { ERROR_SCHEMAS, EVERY_ANSWER, RESPONSE_HEADERS } from "../openapi/responses.ts";
import { SECURITY_TEXT } from "./texts.ts";

const NOT_A_HANDSHAKE = "Not a WebSocket handshake";

interface Answer {
  readonly text: string;
  readonly codes?: readonly ErrorCode[];
  /** Names of headers in addition to {@link EVERY_ANSWER}. */
  readonly headers?: readonly string[];
}

/**
 * The answers to a handshake, in the order of the checks (decisions, 1.1 and 10.3). 500 can come
 * from several of the checks. 101 is last.
 */
const ANSWERS: readonly (readonly [number, Answer])[] = [
  [404, { text: "The path is wrong, or the request is no HTTP upgrade.", codes: ["NOT_FOUND"] }],
  [
    401,
    {
      text: "The management key is missing, unknown, revoked or expired, or is used from a network that it does not allow. Do not retry with this key.",
      codes: ["AUTHENTICATION_REQUIRED"],
    },
  ],
  [
    403,
    {
      text: "The key lacks the scope, or your organization has its maximum number of connections: close one.",
      codes: ["MISSING_SCOPE", "TOO_MANY_CONNECTIONS"],
    },
  ],
  [400, { text: "The request is not a WebSocket handshake of version 13.", codes: ["VALIDATION_FAILED"] }],
  [
    429,
    {
      text: "The key has made too many requests. Retry after `Retry-After`.",
      codes: ["RATE_LIMITED"],
      headers: ["Retry-After"],
    },
  ],
  [402, { text: "The organization cannot cover the price of a connection.", codes: ["INSUFFICIENT_CREDITS"] }],
  [
    500,
    {
      text: "Something failed on our side. Retry with backoff, or after `Retry-After` if it is present.",
      codes: ["DEPENDENCY_UNAVAILABLE", "INTERNAL"],
      headers: ["Retry-After"],
    },
  ],
  [
    101,
    {
      text: "The connection is open and charged. The first message is `connected`.",
    },
  ],
];

/** The fields of a rejection, which are those of every error. */
const BODY_NAMES = ["error", "code", "requestId"] as const;
const ERROR_FIELDS = ERROR_SCHEMAS["Error"]?.["properties"] as Readonly<Record<string, JsonSchema>>;
const BODY_FIELDS = Object.fromEntries(BODY_NAMES.map((name) => [name, ERROR_FIELDS[name]]));

/** Every error answer to a handshake, in the order of the checks. */
export const HANDSHAKE_REJECTIONS = ANSWERS.flatMap(([status, { codes = [] }]) =>
  codes.map((code) => ({ status, code })),
);

/** The headers of the handshake that a client sends, for the binding of the channel. */
export const HANDSHAKE_HEADERS: JsonSchema = {
  type: "object",
  properties: {
    Authorization: {
      type: "string",
      description: SECURITY_TEXT,
      pattern: "^Management kapi\\.[a-z2-7]{16}\\.[A-Za-z0-9_-]{43}$",
    },
    "X-Request-Id": {
      type: "string",
      description: "Names this connection in your usage and our logs: up to 200 visible ASCII characters.",
      maxLength: 200,
    },
  },
  required: ["Authorization"],
};

/** The error text of a rejected handshake. */
export function rejectionText(code: ErrorCode): string {
  if (code === "VALIDATION_FAILED") return NOT_A_HANDSHAKE;
  return ERRORS[code].text.replace("<scope>", LIVE_METRICS_SCOPE);
}

/** Every answer to the handshake, in the form of OpenAPI responses, in the order of the checks. */
export function handshakeAnswers(): JsonSchema[] {
  return ANSWERS.map(describeAnswer);
}

function describeAnswer([status, { text, codes = [], headers = [] }]: readonly [number, Answer]): JsonSchema {
  const described = Object.fromEntries([...EVERY_ANSWER, ...headers].map((name) => [name, RESPONSE_HEADERS[name]]));
  if (codes.length === 0) return { status, description: text, headers: described };
  const errorCode = { description: "A stable code.", schema: { type: "string", enum: codes } };
  return {
    status,
    description: text,
    headers: { ...described, "X-Error-Code": errorCode },
    body: rejectionBody(codes),
  };
}

function rejectionBody(codes: readonly ErrorCode[]): JsonSchema {
  return {
    contentType: "application/json",
    schema: { type: "object", description: "The body of every error.", properties: BODY_FIELDS, required: BODY_NAMES },
    examples: Object.fromEntries(
      codes.map((code) => [code, { error: rejectionText(code), code, requestId: EXAMPLE_PARAMETERS.xRequestId }]),
    ),
  };
}
