import { Webhook, WebhookVerificationError } from "standardwebhooks";

import type { components } from "../generated/api.ts";
import { parseAnswer } from "../money.ts";

type Schemas = components["schemas"];

/** A delivered event: its `type` tells which `data` it has. */
export type WebhookEvent = Schemas[
  | "AccountEvent"
  | "PasswordChangedEvent"
  | "OrderEvent"
  | "PositionEvent"
  | "PositionClosedEvent"
  | "DealEvent"
  | "TransactionEvent"
  | "MarginEvent"
  | "LowBalanceEvent"
  | "TestEvent"
  | "CommandEvent"];

/** Headers of a request: of Node's `http`, of `fetch`, or any record. */
export type IncomingHeaders = Headers | Readonly<Record<string, string | readonly string[] | undefined>>;

/** The delivery is not authentic: answer 401 and do nothing. */
export class WebhookSignatureError extends Error {
  constructor(reason: string, cause?: unknown) {
    super(`the webhook is not authentic: ${reason}`, { cause });
    this.name = "WebhookSignatureError";
  }
}

const HEADER_NAMES = ["webhook-id", "webhook-timestamp", "webhook-signature"] as const;

/**
 * Verifies that kapi sent a request, and returns its event. Give the raw body, before any parser
 * changed it, and every secret that is valid at this moment. A delivery that is older than 5
 * minutes is rejected, so that a recorded delivery cannot be sent again later.
 * @throws WebhookSignatureError for a missing header, a wrong signature, or a time too far from
 * now.
 */
export function verifyWebhook(
  rawBody: string | Uint8Array,
  headers: IncomingHeaders,
  secrets: string | readonly string[],
): WebhookEvent {
  const body = typeof rawBody === "string" ? rawBody : new TextDecoder().decode(rawBody);
  const signed = signedHeaders(headers);
  let reason: unknown;
  for (const secret of typeof secrets === "string" ? [secrets] : secrets) {
    try {
      new Webhook(secret).verify(body, signed, { jsonParse: false });
      return parseAnswer(body) as WebhookEvent;
    } catch (error) {
      if (!(error instanceof WebhookVerificationError)) throw error;
      reason = error;
    }
  }
  throw new WebhookSignatureError(reason instanceof Error ? reason.message : "no secret was given", reason);
}

function signedHeaders(headers: IncomingHeaders): Record<string, string> {
  return Object.fromEntries(HEADER_NAMES.map((name) => [name, headerOf(headers, name)]));
}

function headerOf(headers: IncomingHeaders, name: string): string {
  const value = headers instanceof Headers ? headers.get(name) : headers[name];
  if (typeof value === "string") return value;
  throw new WebhookSignatureError(`the header ${name} is missing`);
}
