import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from "node:crypto";

import { assertDefined } from "./assert.ts";

const LOWER = "abcdefghijkmnopqrstuvwxyz";
const UPPER = "ABCDEFGHJKLMNPQRSTUVWXYZ";
const DIGITS = "23456789";
const SYMBOLS = "!#$%&*+-=?@_";
const PASSWORD_LENGTH = 20;
/**
 * Bytes of key material per character: two, so that the remainder's bias is below one in a
 * thousand.
 */
const BYTES_PER_CHARACTER = 2;
const GCM_IV_BYTES = 12;

/**
 * Named 32-byte keys; the first is the one in use, the others only open what they closed, and
 * derive what they derived.
 */
export interface Keyring {
  readonly currentKeyId: string;
  readonly keys: ReadonlyMap<string, Buffer>;
}

/** What a generated password is for; part of its derivation (decisions, 5.2). */
export type PasswordPurpose = "trading" | "investor";

/** A password under AES-256-GCM, all parts base64url; the shape of `Sealed` in the contracts. */
export interface SealedPassword {
  readonly keyId: string;
  readonly iv: string;
  readonly ciphertext: string;
  readonly tag: string;
}

/**
 * The generated password of a command: HKDF-SHA256 of the key `keyId` with the command id and
 * purpose, mapped to 20 characters with upper and lower case, digit and symbol (decisions, 5.2).
 * Stored nowhere; equal input, equal password, whichever key is in use now. Throws where the
 * keyring does not have the key (any more).
 */
export function derivePassword(keyring: Keyring, keyId: string, commandId: string, purpose: PasswordPurpose): string {
  const key = keyOf(keyring, keyId);
  const info = `kapi/password/${keyId}/${purpose}`;
  const material = Buffer.from(hkdfSync("sha256", key, commandId, info, PASSWORD_LENGTH * BYTES_PER_CHARACTER));
  const alphabets = [UPPER, LOWER, DIGITS, SYMBOLS];
  const everything = alphabets.join("");
  return Array.from({ length: PASSWORD_LENGTH }, (_, index) => {
    const alphabet = alphabets[index] ?? everything;
    return alphabet.charAt(material.readUInt16BE(index * BYTES_PER_CHARACTER) % alphabet.length);
  }).join("");
}

/**
 * Seals a supplied password for one command: the command id is authenticated with it
 * (decisions, 5.2).
 */
export function sealPassword(keyring: Keyring, commandId: string, password: string): SealedPassword {
  const iv = randomBytes(GCM_IV_BYTES);
  const cipher = createCipheriv("aes-256-gcm", keyOf(keyring, keyring.currentKeyId), iv).setAAD(Buffer.from(commandId));
  const ciphertext = Buffer.concat([cipher.update(password, "utf8"), cipher.final()]);
  return {
    keyId: keyring.currentKeyId,
    iv: iv.toString("base64url"),
    ciphertext: ciphertext.toString("base64url"),
    tag: cipher.getAuthTag().toString("base64url"),
  };
}

/** Opens what {@link sealPassword} closed; throws where key, command or text are not the same. */
export function openPassword(keyring: Keyring, commandId: string, sealed: SealedPassword): string {
  const decipher = createDecipheriv("aes-256-gcm", keyOf(keyring, sealed.keyId), Buffer.from(sealed.iv, "base64url"))
    .setAAD(Buffer.from(commandId))
    .setAuthTag(Buffer.from(sealed.tag, "base64url"));
  return decipher.update(Buffer.from(sealed.ciphertext, "base64url"), undefined, "utf8") + decipher.final("utf8");
}

/**
 * HMAC-SHA256 in hex, by which a supplied password enters a fingerprint without being guessable
 * from it (decisions, 2.3).
 */
export function passwordFingerprint(key: Buffer, password: string): string {
  return createHmac("sha256", key).update(password).digest("hex");
}

function keyOf(keyring: Keyring, keyId: string): Buffer {
  return assertDefined(keyring.keys.get(keyId), `key ${keyId} of the keyring`);
}
