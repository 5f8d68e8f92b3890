import { Webhook, WebhookVerificationError } from "standardwebhooks";

import type { WebhookEvent } from "../generated/api.ts";
import { parseAnswer } from "../money.ts";

/** Headers of a request: of Node's `http`, of `fetch`, or a record with names in lower case. */
export type IncomingHeaders = Headers | Readonly<Record<string, string | readonly string[] | undefined>>;

/** The delivery is not authentic: answer 400 and do nothing. */
export class WebhookSignatureError extends Error {
  constructor(reason: string, cause?: unknown) {
    super(`the webhook is not authentic: ${reason}`, { cause });
    this.name = "WebhookSignatureError";
  }
}

const SECRET = /^whsec_[A-Za-z0-9+/]+=*$/;
const HEADER_NAMES = ["webhook-id", "webhook-timestamp", "webhook-signature"] as const;

/**
 * Verifies that kapi sent a request, and returns its event. Give the raw body, before any parser
 * changed it, and every secret that is valid at this moment. `webhook-timestamp` is the time of the
 * attempt. It must be within 5 minutes of now, so that nobody can replay a captured delivery later.
 * @throws WebhookSignatureError for a missing header, a wrong signature, or a `webhook-timestamp`
 * too far from now.
 * @throws TypeError if no secret was given, or if a secret is malformed: the receiver is at fault.
 * @throws SyntaxError if an authentic body is not JSON.
 */
export function verifyWebhook(
  rawBody: string | Uint8Array,
  headers: IncomingHeaders,
  secrets: string | readonly string[],
): WebhookEvent {
  const verifiers = (typeof secrets === "string" ? [secrets] : secrets).map(verifierOf);
  if (verifiers.length === 0) throw new TypeError("no webhook secret was given");
  const body = typeof rawBody === "string" ? rawBody : new TextDecoder().decode(rawBody);
  const signed = signedHeaders(headers);
  let reason: Error | undefined;
  for (const verifier of verifiers) {
    try {
      verifier.verify(body, signed, { jsonParse: false });
      return parseAnswer(body) as WebhookEvent;
    } catch (error) {
      if (!(error instanceof WebhookVerificationError)) throw error;
      reason = error;
    }
  }
  throw new WebhookSignatureError(reason?.message ?? "no signature matches", reason);
}

function verifierOf(secret: string): Webhook {
  if (!SECRET.test(secret)) throw new TypeError("a webhook secret is malformed: pass it as kapi returned it");
  return new Webhook(secret);
}

function signedHeaders(headers: IncomingHeaders): Record<string, string> {
  return Object.fromEntries(HEADER_NAMES.map((name) => [name, headerOf(headers, name)]));
}

function headerOf(headers: IncomingHeaders, name: string): string {
  const value = headers instanceof Headers ? headers.get(name) : headers[name];
  if (typeof value === "string") return value;
  throw new WebhookSignatureError(`the header ${name} is missing`);
}
