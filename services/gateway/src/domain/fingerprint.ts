import { hash } from "node:crypto";

import type { CommandOperation } from "@kapi/contracts";
import { canonicalJson, passwordFingerprint } from "@kapi/kernel";

/** What makes two requests the same request. */
export interface FingerprintInput {
  readonly operation: CommandOperation;
  /** The path as the interface writes it, with the values in place; ids in lower case. */
  readonly path: string;
  /** The body as its schema gives it: unknown fields are gone. */
  readonly body: Readonly<Record<string, unknown>>;
}

/**
 * SHA-256, in hex, of operation, path and canonical body without `requestId`; a supplied password enters as a keyed hash,
 * so that the fingerprint does not help to guess it (decisions, 2.3).
 */
export function fingerprintOf({ operation, path, body }: FingerprintInput, key: Buffer): string {
  const { requestId: _correlationOnly, password, ...rest } = body;
  const judged = typeof password === "string" ? { ...rest, password: passwordFingerprint(key, password) } : rest;
  return hash("sha256", `${operation}\n${path}\n${canonicalJson(judged)}`, "hex");
}
