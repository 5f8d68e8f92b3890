import { hash, timingSafeEqual } from "node:crypto";

import type { KeyEntry } from "@kapi/contracts";
import { ApiError } from "@kapi/http";
import type { Clock } from "@kapi/kernel";

import type { Directory } from "./directory.ts";

/**
 * `Management <KEY>` with the key `kapi.<key_id>.<secret>` (decisions, 12). The id is 16 characters
 * of base32, the secret is 32 bytes in base64url. The letter case of the scheme does not matter
 * (RFC 9110, 11.1), the letter case of the key does.
 */
const AUTHORIZATION = /^(?i:management) +kapi\.([a-z2-7]{16})\.([A-Za-z0-9_-]{43})$/;
const SHA256_BYTES = 32;
/** Hash to compare with for an unknown key, so that unknown and wrong keys take equal time. */
const NO_HASH = Buffer.alloc(SHA256_BYTES);

/** SHA-256 of the secret part of a key, in hex, as the directory stores it. */
export function secretHashOf(secret: string): string {
  return hash("sha256", secret, "hex");
}

/**
 * Returns the key of the header `Authorization`. The secret is compared in constant time.
 * @throws ApiError the same 401 (AUTHENTICATION_REQUIRED) for a missing, malformed, unknown, wrong,
 * revoked or expired key.
 */
export function authenticate(
  directory: Pick<Directory, "key">,
  clock: Clock,
  authorizationHeader: string | undefined,
): KeyEntry {
  const [, keyId, secret] = AUTHORIZATION.exec(authorizationHeader ?? "") ?? [];
  if (keyId === undefined || secret === undefined) throw new ApiError("AUTHENTICATION_REQUIRED");
  const entry = directory.key(keyId);
  const proven = timingSafeEqual(
    hash("sha256", secret, "buffer"),
    entry ? Buffer.from(entry.secretHash, "hex") : NO_HASH,
  );
  if (!entry || !proven || !isInForce(entry, clock.nowMs())) throw new ApiError("AUTHENTICATION_REQUIRED");
  return entry;
}

/**
 * Whether a key is neither revoked nor expired at `nowMs`; live sockets check it again while they
 * are open.
 */
export function isInForce(key: KeyEntry, nowMs: number): boolean {
  return key.status === "active" && (key.expiresAt === null || Date.parse(key.expiresAt) > nowMs);
}
