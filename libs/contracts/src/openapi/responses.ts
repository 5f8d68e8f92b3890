import { type ErrorCode, ERRORS, type Issue } from "../errors.ts";
import { EXAMPLE_PARAMETERS } from "./examples.ts";
import type { JsonSchema } from "./schemas.ts";

/** The error responses of the document by status: name of the component, and description. */
const ERROR_RESPONSES = {
  400: { name: "InvalidRequest", text: "The request is invalid. If fields are invalid, `issues` names them." },
  401: {
    name: "AuthenticationRequired",
    text: "The management key is missing, unknown, revoked or expired, or is used from a network that it does not allow.",
  },
  402: { name: "InsufficientCredits", text: "The organization cannot cover the price of the request." },
  403: { name: "Forbidden", text: "The key lacks the scope, or access to the server." },
  404: { name: "NotFound", text: "There is no such resource." },
  409: {
    name: "Conflict",
    text: "The request conflicts with the state of the server or with an earlier request, or what it reads is not complete yet.",
  },
  429: {
    name: "RateLimited",
    text: "The key has made too many requests, or too many requests run at the same time. Not billed; retry after `Retry-After`.",
  },
  500: {
    name: "InternalError",
    text: "Something failed on our side. Not billed; a retry with the same idempotency key is safe.",
  },
} as const;
export type ErrorStatus = keyof typeof ERROR_RESPONSES;
/** Statuses with `Retry-After` in some answers. */
const MAY_NAME_A_WAIT: ReadonlySet<string> = new Set(["409", "429", "500"]);

/**
 * Codes that some operations return with another status than {@link ERRORS} (decisions, 2.3 and
 * 4.8).
 */
const MOVED_CODES: readonly (readonly [ErrorStatus, ErrorCode])[] = [
  [409, "IDEMPOTENCY_KEY_REUSED"],
  [400, "ACCOUNT_NOT_FOUND"],
];
/**
 * Codes of the live stream's handshake, of the console, and of unknown paths and methods: no
 * operation has them.
 */
const NO_OPERATIONS_CODES: ReadonlySet<ErrorCode> = new Set([
  "TOO_MANY_CONNECTIONS",
  "CROSS_SITE_REQUEST",
  "MISSING_PERMISSION",
  "VERSION_CHANGED",
  "NOT_FOUND",
  "METHOD_NOT_ALLOWED",
]);

const ISSUES: readonly Issue[] = [
  { path: ["requestId"], code: "invalid_type", message: "Invalid input: expected string, received undefined" },
];

export const ERROR_SCHEMAS: Readonly<Record<string, JsonSchema>> = {
  Error: {
    type: "object",
    description: "The body of every error.",
    properties: {
      error: { type: "string", description: "What went wrong, for people." },
      code: { type: "string", description: "Stable code for programs. Each code has a page: `/docs/errors/<code>`." },
      requestId: { type: "string", description: "Names this request in questions to your operator." },
      issues: {
        type: "array",
        description: "Present if fields of the request are invalid.",
        items: { $ref: "#/components/schemas/Issue" },
      },
    },
    required: ["error", "code", "requestId"],
  },
  Issue: {
    type: "object",
    description: "One field that is invalid.",
    properties: {
      path: {
        type: "array",
        items: { anyOf: [{ type: "string" }, { type: "integer" }] },
        description: "The location: names of fields and positions in arrays, or the name of a header or parameter.",
      },
      code: { type: "string", description: "Kind of the violation, such as `invalid_type` or `too_small`." },
      message: { type: "string", description: "What is wrong with the field." },
    },
    required: ["path", "code", "message"],
  },
};

const integerHeader = (description: string): JsonSchema => ({
  description,
  required: true,
  schema: { type: "integer", minimum: 0 },
});

/** `components.headers`. */
export const RESPONSE_HEADERS: Readonly<Record<string, JsonSchema>> = {
  "X-Request-Id": {
    description: "The caller's `X-Request-Id`, or a generated one.",
    required: true,
    schema: { type: "string" },
  },
  "X-Credits-Charged": integerHeader("Credits that this request consumed or reserved."),
  "X-Credits-Remaining": {
    description: "Credits that are available after the request. Absent if no wallet was read, as in a 401.",
    schema: { type: "integer" },
  },
  "Idempotent-Replayed": {
    description:
      "`true` if an earlier request with the same idempotency key queued the command, or all commands of the bulk.",
    schema: { type: "string", enum: ["true"] },
  },
  "Retry-After": {
    description: "Seconds to wait before retrying, if waiting helps.",
    schema: { type: "integer", minimum: 0 },
  },
};

/**
 * Headers of every answer; the last one only if the remaining credits are known (decisions, 1.6).
 */
export const EVERY_ANSWER: readonly string[] = ["X-Request-Id", "X-Credits-Charged", "X-Credits-Remaining"];

/** References to the headers that every answer carries, and `more`. */
export function headerReferences(...more: readonly string[]): JsonSchema {
  return Object.fromEntries([...EVERY_ANSWER, ...more].map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

/** `components.responses`: one for each status, with the codes that come with it. */
export function errorResponses(): Record<string, JsonSchema> {
  const entries = Object.entries(ERROR_RESPONSES).map(([status, { name, text }]) => {
    const codes = codesOf(Number(status));
    const headers = {
      ...headerReferences(...(MAY_NAME_A_WAIT.has(status) ? ["Retry-After"] : [])),
      "X-Error-Code": { description: "A stable code.", required: true, schema: { type: "string", enum: codes } },
    };
    const schema = { $ref: "#/components/schemas/Error" };
    const examples = Object.fromEntries(codes.map((code) => [code, { value: exampleOf(code) }]));
    return [name, { description: text, headers, content: { "application/json": { schema, examples } } }];
  });
  return Object.fromEntries(entries) as Record<string, JsonSchema>;
}

/** A reference to the answer of an error status. @throws Error for a status without an answer. */
export function errorReference(status: number): JsonSchema {
  const known = ERROR_RESPONSES[status as ErrorStatus] as { name: string } | undefined;
  if (known === undefined) throw new Error(`status ${status} has no text in the document`);
  return { $ref: `#/components/responses/${known.name}` };
}

function codesOf(status: number): ErrorCode[] {
  const own = (Object.keys(ERRORS) as ErrorCode[]).filter((code) => ERRORS[code].status === status);
  const moved = MOVED_CODES.flatMap(([at, code]) => (at === status ? [code] : []));
  return [...own, ...moved].filter((code) => !NO_OPERATIONS_CODES.has(code));
}

function exampleOf(code: ErrorCode): object {
  const error = ERRORS[code].text
    .replace("<scope>", "accounts:read")
    .replace("<reason>", "it is not https")
    .replace("<serverId>", "0197a3c2-6d20-7a10-8b3f-91c5e07d2a02");
  const body = { error, code, requestId: EXAMPLE_PARAMETERS.xRequestId };
  return code === "VALIDATION_FAILED" ? { ...body, issues: ISSUES } : body;
}
