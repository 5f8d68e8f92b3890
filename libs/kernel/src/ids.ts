import { hash, randomBytes, randomUUID } from "node:crypto";

import { assert } from "./assert.ts";

const HEX_OF_UUID = /^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i;
const NAMESPACE_BYTES = 16;
/**
 * The variant fixes two bits of the first digit of the fourth group. The other two bits are the
 * index of the digit in this text.
 */
const VARIANTS = "89ab";
const BASE32_ALPHABET = "abcdefghijklmnopqrstuvwxyz234567";

/** Number of hexadecimal digits of the time in a UUIDv7. */
const TIME_DIGITS = 12;
/** Index of the first character after the version in the text of a UUID. */
const AFTER_VERSION = 15;

/**
 * Namespace of the last call, and its bytes. Callers use one namespace for many names, and parsing
 * it costs as much as the hash.
 */
let knownNamespace = "";
const knownBytes = Buffer.alloc(NAMESPACE_BYTES);

/**
 * Name-based UUID (RFC 9562, version 5) of `name` in `namespace`, which is a UUID in text form. The
 * result is in lower case.
 */
export function uuidV5(namespace: string, name: string): string {
  if (namespace !== knownNamespace) {
    assert(HEX_OF_UUID.test(namespace), "the namespace of a UUIDv5 is not a UUID");
    knownBytes.write(namespace.replaceAll("-", ""), "hex");
    knownNamespace = namespace;
  }
  const input = Buffer.allocUnsafe(NAMESPACE_BYTES + Buffer.byteLength(name));
  input.set(knownBytes);
  input.write(name, NAMESPACE_BYTES);
  // A hash object would cost more than the hash itself.
  const hex = hash("sha1", input, "hex");
  const variant = VARIANTS.charAt(Number.parseInt(hex.charAt(16), 16) & 3);
  return formatUuid(`${hex.slice(0, 12)}5${hex.slice(13, 16)}${variant}${hex.slice(17, 32)}`);
}

/** Time-ordered UUID (RFC 9562, version 7) for `nowMs`. */
export function uuidV7(nowMs: number): string {
  const time = Math.trunc(nowMs).toString(16).padStart(TIME_DIGITS, "0");
  // A UUIDv4 has random bits in these places. Node creates the random bytes of many UUIDs at once,
  // so randomUUID is cheap.
  const random = randomUUID().slice(AFTER_VERSION);
  return `${time.slice(0, 8)}-${time.slice(8)}-7${random}`;
}

/** Creation time of a UUIDv7, in milliseconds since 1970. */
export function uuidV7TimeMs(id: string): number {
  return Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16);
}

/** Whether `text` has the form of a UUID, of any version. */
export function isUuid(text: string): boolean {
  return text.length === 36 && HEX_OF_UUID.test(text);
}

/** The command id of an organization's idempotency key; the same in all stores (decisions, 2.2). */
export function commandIdOf(organizationId: string, idempotencyKey: string): string {
  return uuidV5(organizationId, idempotencyKey);
}

/** The id of the account that a creation command creates (decisions, 2.2). */
export function managedAccountIdOf(commandId: string): string {
  return uuidV5(commandId, "account");
}

/** `length` random characters of lower-case base32 (RFC 4648 alphabet); five bits each. */
export function randomBase32(length: number): string {
  return Array.from(randomBytes(length), (byte) => BASE32_ALPHABET.charAt(byte & 31)).join("");
}

function formatUuid(hex: string): string {
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}
