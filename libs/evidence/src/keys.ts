import { createPrivateKey, createPublicKey, type KeyObject, sign } from "node:crypto";

import type { EvidenceKey, EvidenceKeys } from "@kapi/contracts";
import { assert, assertDefined, type Keyring } from "@kapi/kernel";

/** PKCS #8 header of an Ed25519 private key; the 32 bytes of the key follow (RFC 8410, 7). */
const PKCS8_PREFIX = Buffer.from("302e020100300506032b657004220420", "hex");

/** Signs documents with one key. */
export interface EvidenceSigner {
  readonly keyId: string;
  /** The Ed25519 signature of the UTF-8 form of a text, 64 bytes. */
  sign(text: string): Buffer;
}

/** A key that no longer signs. Only its public part is kept. */
export interface RetiredKey {
  readonly keyId: string;
  /** 32 bytes. */
  readonly publicKey: Buffer;
  /** ISO 8601, UTC. After this time no process signed with the key. */
  readonly retiredAt: string;
}

/**
 * Signs with the current key of the ring. A key of the ring is an Ed25519 private key (RFC 8032).
 */
export function createSigner({ currentKeyId, keys }: Keyring): EvidenceSigner {
  const key = privateKeyOf(assertDefined(keys.get(currentKeyId), `key ${currentKeyId} of the keyring`));
  return { keyId: currentKeyId, sign: (text) => sign(null, Buffer.from(text), key) };
}

/**
 * The public keys to publish: of every key of the ring, also of one that does not sign yet, and of
 * every retired key (decisions, 20.3).
 * @throws AssertionError if two keys have the same id: a signature would name both.
 */
export function publicKeys({ keys }: Keyring, retired: readonly RetiredKey[]): EvidenceKeys {
  const published = [
    ...[...keys].map(([keyId, seed]) => entryOf(keyId, createPublicKey(privateKeyOf(seed)), null)),
    ...retired.map(({ keyId, publicKey, retiredAt }) => entryOf(keyId, publicKeyOf(publicKey), retiredAt)),
  ];
  const ids = new Set(published.map(({ keyId }) => keyId));
  assert(
    ids.size === published.length,
    "two keys of evidence have one id: each key, also a retired key, needs its own id",
  );
  return { keys: published };
}

function entryOf(keyId: string, key: KeyObject, retiredAt: string | null): EvidenceKey {
  const { x } = key.export({ format: "jwk" });
  const pem = key.export({ format: "pem", type: "spki" }).toString();
  return { keyId, algorithm: "Ed25519", publicKey: assertDefined(x, "the public key"), pem, retiredAt };
}

function privateKeyOf(seed: Buffer): KeyObject {
  return createPrivateKey({ key: Buffer.concat([PKCS8_PREFIX, seed]), format: "der", type: "pkcs8" });
}

function publicKeyOf(bytes: Buffer): KeyObject {
  const jwk = { kty: "OKP", crv: "Ed25519", x: bytes.toString("base64url") };
  return createPublicKey({ key: jwk, format: "jwk" });
}
