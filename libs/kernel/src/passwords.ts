import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from "node:crypto";

const LOWER = "abcdefghijkmnopqrstuvwxyz";
const UPPER = "ABCDEFGHJKLMNPQRSTUVWXYZ";
const DIGITS = "23456789";
const SYMBOLS = "!#$%&*+-=?@_";
const PASSWORD_LENGTH = 20;
/**
 * Bytes of key material per character: with two, the modulo bias is below one in a thousand.
 */
const BYTES_PER_CHARACTER = 2;
const GCM_IV_BYTES = 12;

/**
 * 32-byte keys by id. The current key seals and derives new secrets, or signs evidence. The other
 * keys only open what they have sealed, and derive again passwords that they have derived.
 */
export interface Keyring {
  readonly currentKeyId: string;
  readonly keys: ReadonlyMap<string, Buffer>;
}

/**
 * A keyring does not have a key. During a change of keys, another process may already use a key
 * that this process gets only when it is restarted.
 */
export class UnknownKey extends Error {
  constructor(keyId: string) {
    super(`this process does not have the key ${keyId}`);
    this.name = "UnknownKey";
  }
}

/** Purpose of a generated password; an input of its derivation (decisions, 5.2). */
export type PasswordPurpose = "trading" | "investor";

/**
 * A password or another secret, such as the token of a trading server, encrypted with AES-256-GCM.
 * The shape of `Sealed` in the contracts. All parts but `keyId` are base64url.
 */
export interface SealedPassword {
  readonly keyId: string;
  readonly iv: string;
  readonly ciphertext: string;
  readonly tag: string;
}

/**
 * The generated password of a command: HKDF-SHA256 of the key `keyId` with the command id and
 * purpose, mapped to 20 characters with upper and lower case, digit and symbol (decisions, 5.2).
 * It is stored nowhere: equal input gives an equal password, whichever key is current.
 * @throws UnknownKey if the keyring does not have the key `keyId`.
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
 * Seals a secret for its owner: a supplied password for its command (decisions, 5.2), a token for
 * its trading server, a webhook secret for its endpoint. `ownerId` is authenticated data.
 */
export function sealPassword(keyring: Keyring, ownerId: string, password: string): SealedPassword {
  const iv = randomBytes(GCM_IV_BYTES);
  const cipher = createCipheriv("aes-256-gcm", keyOf(keyring, keyring.currentKeyId), iv).setAAD(Buffer.from(ownerId));
  const ciphertext = Buffer.concat([cipher.update(password, "utf8"), cipher.final()]);
  return {
    keyId: keyring.currentKeyId,
    iv: iv.toString("base64url"),
    ciphertext: ciphertext.toString("base64url"),
    tag: cipher.getAuthTag().toString("base64url"),
  };
}

/**
 * Opens the password that {@link sealPassword} sealed.
 * @throws UnknownKey if the keyring does not have the key; Error if the key, the owner's id or the
 * ciphertext differs.
 */
export function openPassword(keyring: Keyring, ownerId: string, sealed: SealedPassword): string {
  const decipher = createDecipheriv("aes-256-gcm", keyOf(keyring, sealed.keyId), Buffer.from(sealed.iv, "base64url"))
    .setAAD(Buffer.from(ownerId))
    .setAuthTag(Buffer.from(sealed.tag, "base64url"));
  return decipher.update(Buffer.from(sealed.ciphertext, "base64url"), undefined, "utf8") + decipher.final("utf8");
}

/**
 * HMAC-SHA256 of a supplied password, in hex, as an input of a fingerprint: without the key it does
 * not help to guess the password (decisions, 2.3).
 */
export function passwordFingerprint(key: Buffer, password: string): string {
  return createHmac("sha256", key).update(password).digest("hex");
}

function keyOf(keyring: Keyring, keyId: string): Buffer {
  const key = keyring.keys.get(keyId);
  if (key === undefined) throw new UnknownKey(keyId);
  return key;
}
