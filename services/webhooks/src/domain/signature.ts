/**
 * Standard Webhooks, version 1: `webhook-signature` is "v1," and the base64 of HMAC-SHA256 over
 * "<webhook-id>.<webhook-timestamp>.<body>". For 24 h after a rotation, the header has two
 * signatures, separated by a space. The text after "whsec_" in the secret is the key in base64.
 */
import { createHmac, createSecretKey, type KeyObject, randomBytes } from "node:crypto";

import { assert } from "@kapi/kernel";

const SECRET_PREFIX = "whsec_";
/** Standard Webhooks recommends 24 to 64. */
const SECRET_BYTES = 32;
const VERSION = "v1";

/** A new secret in the form in which its owner sees it. */
export function generateSecret(): string {
  return SECRET_PREFIX + randomBytes(SECRET_BYTES).toString("base64");
}

/**
 * The key of a secret. Create it once and reuse it: creating it costs six times as much as signing.
 */
export function signingKey(secret: string): KeyObject {
  assert(secret.startsWith(SECRET_PREFIX), "an endpoint secret does not start with whsec_");
  return createSecretKey(Buffer.from(secret.slice(SECRET_PREFIX.length), "base64"));
}

/**
 * Value of `webhook-signature`.
 * @param keys each key signs; the newest first.
 * @param message the id, the send time in whole seconds since 1970, and the exact body.
 */
export function signatureOf(
  keys: readonly KeyObject[],
  { id, timestamp, body }: { readonly id: string; readonly timestamp: number; readonly body: string },
): string {
  const signed = `${id}.${timestamp}.${body}`;
  return keys.map((key) => `${VERSION},${createHmac("sha256", key).update(signed).digest("base64")}`).join(" ");
}
