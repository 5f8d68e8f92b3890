import { ConnectionError } from "../errors.ts";
import { parseAddress } from "../http/transport.ts";
import type { EvidenceKey, EvidenceKeys } from "./document.ts";

/** Where kapi serves its keys, below the base address of the API. */
const KEYS_PATH = "/.well-known/kapi-evidence-keys.json";
const FETCH_TIMEOUT_MS = 10_000;
/** Maximum length of the key document: enough for more than a thousand keys. */
const MAX_KEYS_CHARACTERS = 1_000_000;
const PUBLIC_KEY = /^[A-Za-z0-9_-]{43}$/;

/** Whose keys to fetch. The keys are public: no management key is sent. */
export interface FetchKeysOptions {
  /** Base address of the API, such as `https://api.example.com`. */
  readonly baseUrl: string;
  /** Replaces the global `fetch`. */
  readonly fetch?: typeof fetch | undefined;
  /** An abort ends the request. The request fails after 10 s without a complete answer. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Fetches the public keys of a kapi. Keep a copy beside the evidence: then the evidence can be
 * verified without kapi, and keys that kapi publishes later cannot change the result.
 * @throws TypeError for an invalid `baseUrl`; ConnectionError if kapi does not answer with keys;
 * the reason of an abort.
 */
export async function fetchEvidenceKeys(options: FetchKeysOptions): Promise<EvidenceKeys> {
  const url = `${parseAddress("baseUrl", options.baseUrl)}${KEYS_PATH}`;
  const deadline = AbortSignal.timeout(FETCH_TIMEOUT_MS);
  const signal = options.signal === undefined ? deadline : AbortSignal.any([deadline, options.signal]);
  try {
    const answer = await (options.fetch ?? fetch)(url, { signal });
    const text = await answer.text();
    if (answer.status !== 200) throw new Error(`it answered ${answer.status}`);
    if (text.length > MAX_KEYS_CHARACTERS) throw new Error(`it answered more than ${MAX_KEYS_CHARACTERS} characters`);
    return parseEvidenceKeys(text);
  } catch (error) {
    options.signal?.throwIfAborted();
    const reason = error instanceof Error ? error.message : String(error);
    const details = { status: null, code: "EVIDENCE_KEYS_UNAVAILABLE", requestId: "", retryable: true, cause: error };
    throw new ConnectionError(`The public keys of evidence cannot be read from ${url}: ${reason}`, details);
  }
}

/** Parses the text of a stored key document. @throws TypeError for anything else. */
export function parseEvidenceKeys(text: string): EvidenceKeys {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new TypeError(`the keys are not JSON: ${String(error)}`, { cause: error });
  }
  checkKeys(value);
  return value;
}

/** The key with an id; undefined if none has it. @throws TypeError if `keys` is no key document. */
export function findKey(keys: EvidenceKeys, keyId: string): EvidenceKey | undefined {
  checkKeys(keys);
  return keys.keys.find((key) => key.keyId === keyId);
}

function checkKeys(value: unknown): asserts value is EvidenceKeys {
  const keys = (value as Partial<EvidenceKeys> | null)?.keys;
  if (!Array.isArray(keys))
    throw new TypeError('the key document has no list "keys": use a copy of kapi-evidence-keys.json');
  for (const [index, key] of keys.entries()) {
    const { keyId, algorithm, publicKey, retiredAt } = (key ?? {}) as Partial<EvidenceKey>;
    const isKey =
      typeof keyId === "string" &&
      algorithm === "Ed25519" &&
      typeof publicKey === "string" &&
      PUBLIC_KEY.test(publicKey) &&
      (retiredAt === null || (typeof retiredAt === "string" && !Number.isNaN(Date.parse(retiredAt))));
    if (!isKey) throw new TypeError(`keys[${index}] is not an Ed25519 key with keyId, publicKey and retiredAt`);
    if (keys.findIndex((other: EvidenceKey) => other.keyId === keyId) !== index) {
      throw new TypeError(`keys[${index}] has the id of another key: ${keyId}`);
    }
  }
}
