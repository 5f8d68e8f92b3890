import { hash } from "node:crypto";

import { type CommandOperation, isPasswordReset } from "@kapi/contracts";
import { canonicalJson, passwordFingerprint } from "@kapi/kernel";

/** What makes two requests the same request. */
export interface FingerprintInput {
  readonly operation: CommandOperation;
  /** The path as the interface writes it, with the values in place; ids in lower case. */
  readonly path: string;
  /** The body as its schema gives it: unknown fields are gone. */
  readonly body: Readonly<Record<string, unknown>>;
  /** The management key of the caller. */
  readonly keyId: string;
}

/**
 * SHA-256, in hex, of operation, path and canonical body without `requestId`; a supplied password
 * enters as a keyed hash, so that the fingerprint does not help to guess it. Password resets by two
 * management keys are different requests (decisions, 2.3): a repeat shows the password.
 */
export function fingerprintOf(input: FingerprintInput, key: Buffer): string {
  const text = canonicalTextOf(input, key);
  return hash("sha256", isPasswordReset(input.operation) ? `${text}\n${input.keyId}` : text, "hex");
}

/** The fingerprint that release 0.1.0 gave the request; null where it is the same as today. */
export function earlierFingerprintOf(input: FingerprintInput, key: Buffer): string | null {
  return isPasswordReset(input.operation) ? hash("sha256", canonicalTextOf(input, key), "hex") : null;
}

function canonicalTextOf({ operation, path, body }: FingerprintInput, key: Buffer): string {
  const { requestId: _correlationOnly, password, ...rest } = body;
  const judged = typeof password === "string" ? { ...rest, password: passwordFingerprint(key, password) } : rest;
  return `${operation}\n${path}\n${canonicalJson(judged)}`;
}
