import { createHash, createPublicKey, verify } from "node:crypto";

import { type Contradiction, contradictionsOf } from "./contradictions.ts";
import type { EvidenceChain, EvidenceDocument, EvidenceKey, EvidenceKeys, EvidenceSignature } from "./document.ts";
import { canonicalJson, parseStrictJson } from "./json.ts";
import { findKey } from "./keys.ts";

const FORMAT = "kapi-evidence/1";
/** The only allowed members of `chain` and `signature`: no hash covers these two objects. */
const CHAIN_MEMBERS = "algorithm,headerHash,lastHash,recordHashes";
const SIGNATURE_MEMBERS = "algorithm,keyId,value";

/** Why a document proves nothing. */
export type EvidenceProblem =
  /** The text does not have the form of a document: not JSON, a repeated member, a missing part. */
  | { readonly code: "malformed"; readonly message: string }
  /** A format that this version does not know: upgrade the client. */
  | { readonly code: "unknown_format"; readonly format: string | null }
  /** A member of the header was changed, added or removed. */
  | { readonly code: "header_changed"; readonly stated: string; readonly computed: string }
  /** The first record that was changed, removed, added or moved. */
  | { readonly code: "record_changed"; readonly index: number; readonly stated: string; readonly computed: string }
  /** Records were cut off or added at the end. */
  | { readonly code: "record_count"; readonly records: number; readonly hashes: number }
  /** The last hash is not the hash of the last record. */
  | { readonly code: "chain_changed"; readonly stated: string; readonly computed: string }
  /** No key has this id: the keys are older than the document, or another kapi signed it. */
  | { readonly code: "unknown_key"; readonly keyId: string }
  /** The document says that it was made when the key no longer signed. */
  | { readonly code: "retired_key"; readonly keyId: string; readonly retiredAt: string; readonly createdAt: string }
  /** The document was changed together with its hashes, or signed by somebody else. */
  | { readonly code: "wrong_signature"; readonly keyId: string };

/** What {@link verifyEvidence} found. */
export type EvidenceResult =
  /** kapi signed this document, and its values agree with each other. */
  | { readonly status: "verified"; readonly document: EvidenceDocument }
  /** kapi signed this document, but its records do not show what it claims. */
  | {
      readonly status: "contradictory";
      readonly document: EvidenceDocument;
      readonly contradictions: readonly Contradiction[];
    }
  | { readonly status: "invalid"; readonly problem: EvidenceProblem };

/**
 * Verifies evidence without kapi: the hash of every part, the signature, and whether the records
 * show what the document claims.
 * @param document the text or bytes of the document, or its parsed JSON. Repeated members are found
 * only in text or bytes.
 * @param keys the document at `/.well-known/kapi-evidence-keys.json`; see
 * `fetchEvidenceKeys`.
 * @throws TypeError if `keys` is not a key document.
 */
export function verifyEvidence(document: string | Uint8Array | object, keys: EvidenceKeys): EvidenceResult {
  const read = readDocument(document);
  if ("problem" in read) return { status: "invalid", problem: read.problem };
  const { parts } = read;
  const problem = chainProblem(parts) ?? signatureProblem(parts, findKey(keys, parts.signature.keyId));
  if (problem !== null) return { status: "invalid", problem };
  // From here on every member is as kapi signed it.
  const signed = { ...parts.header, records: parts.records, chain: parts.chain, signature: parts.signature };
  const authentic = signed as unknown as EvidenceDocument;
  const contradictions = contradictionsOf(authentic);
  if (contradictions.length > 0) return { status: "contradictory", document: authentic, contradictions };
  return { status: "verified", document: authentic };
}

/** The parts of a document. Header and records are not checked yet. */
interface Parts {
  readonly header: Readonly<Record<string, unknown>>;
  readonly records: readonly unknown[];
  readonly chain: EvidenceChain;
  readonly signature: EvidenceSignature;
}

function readDocument(
  document: string | Uint8Array | object,
): { readonly parts: Parts } | { readonly problem: EvidenceProblem } {
  const read = valueOf(document);
  if ("fault" in read) return { problem: { code: "malformed", message: read.fault } };
  const { value } = read;
  if (!isObject(value)) return malformed("it is not a JSON object");
  const { records, chain, signature, ...header } = value;
  const { format, createdAt } = header;
  if (format !== FORMAT) {
    return { problem: { code: "unknown_format", format: typeof format === "string" ? format : null } };
  }
  if (typeof createdAt !== "string" || Number.isNaN(Date.parse(createdAt))) return malformed("createdAt is not a time");
  if (!Array.isArray(records)) return malformed("records is not a list");
  if (!isChain(chain)) return malformed("chain is not a chain of SHA-256 hashes");
  if (!isSignature(signature)) return malformed("signature is not an Ed25519 signature");
  return { parts: { header, records, chain, signature } };
}

function valueOf(document: string | Uint8Array | object): { readonly value: unknown } | { readonly fault: string } {
  if (typeof document === "string") return parseStrictJson(document);
  if (!(document instanceof Uint8Array)) return { value: document };
  try {
    return parseStrictJson(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(document));
  } catch {
    return { fault: "it is not UTF-8 text" };
  }
}

function malformed(message: string): { readonly problem: EvidenceProblem } {
  return { problem: { code: "malformed", message } };
}

function isChain(chain: unknown): chain is EvidenceChain {
  if (!isObject(chain) || Object.keys(chain).toSorted().join(",") !== CHAIN_MEMBERS) return false;
  const { algorithm, headerHash, recordHashes, lastHash } = chain;
  const hashes = [headerHash, lastHash, ...(Array.isArray(recordHashes) ? recordHashes : [null])];
  return algorithm === "SHA-256" && hashes.every((hash) => typeof hash === "string");
}

function isSignature(signature: unknown): signature is EvidenceSignature {
  if (!isObject(signature) || Object.keys(signature).toSorted().join(",") !== SIGNATURE_MEMBERS) return false;
  const { algorithm, keyId, value } = signature;
  return algorithm === "Ed25519" && typeof keyId === "string" && typeof value === "string";
}

/** Computes the chain, and compares it with the stated chain, from the first hash on. */
function chainProblem({ header, records, chain }: Parts): EvidenceProblem | null {
  let computed = sha256(canonicalJson(header));
  if (computed !== chain.headerHash) return { code: "header_changed", stated: chain.headerHash, computed };
  for (const [index, record] of records.entries()) {
    const stated = chain.recordHashes[index];
    if (stated === undefined) break;
    computed = sha256(computed + canonicalJson(record));
    if (computed !== stated) return { code: "record_changed", index, stated, computed };
  }
  if (records.length !== chain.recordHashes.length) {
    return { code: "record_count", records: records.length, hashes: chain.recordHashes.length };
  }
  return computed === chain.lastHash ? null : { code: "chain_changed", stated: chain.lastHash, computed };
}

function signatureProblem(
  { header, chain, signature: { keyId, value } }: Parts,
  key: EvidenceKey | undefined,
): EvidenceProblem | null {
  if (key === undefined) return { code: "unknown_key", keyId };
  const publicKey = createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x: key.publicKey }, format: "jwk" });
  const bytes = Buffer.from(value, "base64url");
  const text = `${FORMAT}\n${keyId}\n${chain.headerHash}\n${chain.lastHash}\n`;
  // Several texts decode to the same bytes. Only the text that an encoder writes is accepted.
  const isUsual = bytes.toString("base64url") === value;
  if (!isUsual || !verify(null, Buffer.from(text), publicKey, bytes)) return { code: "wrong_signature", keyId };
  const createdAt = String(header["createdAt"]);
  const { retiredAt } = key;
  if (retiredAt === null || Date.parse(createdAt) <= Date.parse(retiredAt)) return null;
  return { code: "retired_key", keyId, retiredAt, createdAt };
}

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
