import { hash, randomBytes, randomUUID } from "node:crypto";

import { assert } from "./assert.ts";

const HEX_OF_UUID = /^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i;
const NAMESPACE_BYTES = 16;
/** The first digit of the fourth group, by the two bits of it that the variant leaves free. */
const VARIANTS = "89ab";
const BASE32_ALPHABET = "abcdefghijklmnopqrstuvwxyz234567";

/** Hexadecimal digits of a UUIDv7 that tell its time, and where those after its version begin. */
const TIME_DIGITS = 12;
const AFTER_VERSION = 15;

/**
 * The namespace of the last call and its bytes: one is used for many names, and taking it apart
 * costs as much as the hash.
 */
let knownNamespace = "";
const knownBytes = Buffer.alloc(NAMESPACE_BYTES);

/**
 * Name-based UUID (RFC 9562, version 5) of `name` inside `namespace`, a UUID in text form. Lower
 * case.
 */
export function uuidV5(namespace: string, name: string): string {
  if (namespace !== knownNamespace) {
    assert(HEX_OF_UUID.test(namespace), "the namespace of a UUIDv5 is a UUID");
    knownBytes.write(namespace.replaceAll("-", ""), "hex");
    knownNamespace = namespace;
  }
  const input = Buffer.allocUnsafe(NAMESPACE_BYTES + Buffer.byteLength(name));
  input.set(knownBytes);
  input.write(name, NAMESPACE_BYTES);
  // In one call: an object for the hash would cost more than the hash.
  const hex = hash("sha1", input, "hex");
  const variant = VARIANTS.charAt(Number.parseInt(hex.charAt(16), 16) & 3);
  return formatUuid(`${hex.slice(0, 12)}5${hex.slice(13, 16)}${variant}${hex.slice(17, 32)}`);
}

/** Time-ordered UUID (RFC 9562, version 7) for `nowMs`. */
export function uuidV7(nowMs: number): string {
  const time = Math.trunc(nowMs).toString(16).padStart(TIME_DIGITS, "0");
  // Random where this kind of UUID is. Node asks the system for the randomness of many such at
  // once.
  const random = randomUUID().slice(AFTER_VERSION);
  return `${time.slice(0, 8)}-${time.slice(8)}-7${random}`;
}

/** When a UUIDv7 was made, in milliseconds since 1970. */
export function uuidV7TimeMs(id: string): number {
  return Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16);
}

/** Whether `text` has the form of a UUID, of any version. */
export function isUuid(text: string): boolean {
  return text.length === 36 && HEX_OF_UUID.test(text);
}

/** The command that an organization's idempotency key names, in every store (decisions, 2.2). */
export function commandIdOf(organizationId: string, idempotencyKey: string): string {
  return uuidV5(organizationId, idempotencyKey);
}

/** The account that a creation command makes (decisions, 2.2). */
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
