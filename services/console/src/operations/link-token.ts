import { createHash, randomBytes } from "node:crypto";

const TOKEN_BYTES = 32;

/** A new token of a link that works once. Only its hash is stored. */
export function createLinkToken(): { readonly token: string; readonly tokenHash: string } {
  const token = randomBytes(TOKEN_BYTES).toString("base64url");
  return { token, tokenHash: hashOfToken(token) };
}

/** SHA-256 of a token, in hex. */
export function hashOfToken(token: string): string {
  return createHash("sha256").update(token).digest("hex");
}
