import { hash } from "node:crypto";

import { type Actor, actorToText, type CommandOperation, isPasswordReset } from "@kapi/contracts";
import { canonicalJson, passwordFingerprint } from "@kapi/kernel";

/**
 * How long after its creation a password reset of release 0.1.0 can be repeated, in milliseconds.
 * Its fingerprint does not include the management key, so every key of the organization can repeat
 * the reset. Redis keeps the idempotency record of a final command for one hour too (decisions,
 * 2.5). Later repeats are IDEMPOTENCY_KEY_REUSED.
 */
export const EARLIER_RESET_REPEATABLE_MS = 3_600_000;

/** The parts of a request that are compared with an earlier request. */
export interface FingerprintInput {
  readonly operation: CommandOperation;
  /** The path of the interface with its parameters replaced by values; ids in lower case. */
  readonly path: string;
  /** The body as parsed by its schema, without unknown fields. */
  readonly body: Readonly<Record<string, unknown>>;
  /** The management key or the person that sends the request. */
  readonly actor: Actor;
}

/**
 * SHA-256, in hex, of operation, path and canonical body without `requestId`. A supplied password
 * is replaced by a keyed hash, so that the fingerprint does not help to guess the password. The
 * fingerprint of a password reset includes the caller (decisions, 2.3), because a repeat shows the
 * password.
 */
export function fingerprintOf(input: FingerprintInput, key: Buffer): string {
  const text = canonicalTextOf(input, key);
  return hash("sha256", isPasswordReset(input.operation) ? `${text}\n${nameOf(input.actor)}` : text, "hex");
}

/** The id of a management key, without the prefix `key/`; `user/<id>` for a person. */
function nameOf(actor: Actor): string | null {
  return actor.type === "key" ? actor.id : actorToText(actor);
}

/** The fingerprint that release 0.1.0 gave this request; null if equal to {@link fingerprintOf}. */
export function earlierFingerprintOf(input: FingerprintInput, key: Buffer): string | null {
  return isPasswordReset(input.operation) ? hash("sha256", canonicalTextOf(input, key), "hex") : null;
}

/** A request that is compared with an earlier one. */
interface ComparedRequest {
  readonly message: { readonly fingerprint: string };
  /** As {@link earlierFingerprintOf} returns it. */
  readonly earlierFingerprint: string | null;
}

/**
 * Returns `fingerprint`, that of an earlier request, if the two requests are equal; else null. A
 * fingerprint of release 0.1.0 is accepted until {@link EARLIER_RESET_REPEATABLE_MS} after
 * `createdAt`, the creation time of the earlier command.
 */
export function equalFingerprint(
  { message, earlierFingerprint }: ComparedRequest,
  fingerprint: string,
  createdAt: string,
  nowMs: number,
): string | null {
  if (fingerprint === message.fingerprint) return fingerprint;
  const isRepeatable = nowMs - Date.parse(createdAt) < EARLIER_RESET_REPEATABLE_MS;
  return fingerprint === earlierFingerprint && isRepeatable ? fingerprint : null;
}

function canonicalTextOf({ operation, path, body }: FingerprintInput, key: Buffer): string {
  const { requestId: _correlationOnly, password, ...rest } = body;
  const compared = typeof password === "string" ? { ...rest, password: passwordFingerprint(key, password) } : rest;
  return `${operation}\n${path}\n${canonicalJson(compared)}`;
}
