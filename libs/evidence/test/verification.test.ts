/** Documents of this library, and what the client says of them, also after every kind of change. */
import { createHash, createPrivateKey, sign } from "node:crypto";

import { type EvidenceKeys as ClientKeys, type EvidenceDocument as ClientDocument, verifyEvidence } from "@kapi/client";
import { type EvidenceDocument, type EvidenceKeys, EvidenceDocument as DocumentSchema } from "@kapi/contracts";
import { buildEvidence, createSigner, publicKeys } from "@kapi/evidence";
import { canonicalJson } from "@kapi/kernel";
import fc from "fast-check";
import { describe, expect, expectTypeOf, it } from "vitest";

import { BREACH, breachClaim, INTERVAL, KEYS, keyring, RECORDS, RING, SIGNER, valuation } from "./documents.ts";

type Json = Record<string, unknown>;

const DOCUMENTS = [BREACH, INTERVAL];
const copy = (document: EvidenceDocument): Json => JSON.parse(JSON.stringify(document)) as Json;

/** The code of a document's problem, or `contradictory`; null if the document is verified. */
function problemOf(document: string | Uint8Array | object, keys: EvidenceKeys = KEYS): string | null {
  const result = verifyEvidence(document, keys);
  if (result.status === "verified") return null;
  return result.status === "invalid" ? result.problem.code : result.status;
}

/** Computes all hashes of a changed document again, as somebody without the key can do. */
function rehashed(document: Json): Json {
  const { records, chain: _chain, signature, ...header } = document;
  const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex");
  const headerHash = sha256(canonicalJson(header));
  let lastHash = headerHash;
  const recordHashes = (records as unknown[]).map((record) => (lastHash = sha256(lastHash + canonicalJson(record))));
  return { ...header, records, chain: { algorithm: "SHA-256", headerHash, recordHashes, lastHash }, signature };
}

describe("evidence", () => {
  it("is verified as kapi made it: parsed, as text, as bytes and pretty-printed", () => {
    for (const document of DOCUMENTS) {
      expect(DocumentSchema.parse(document)).toEqual(document);
      const text = JSON.stringify(document);
      for (const form of [copy(document), text, Buffer.from(text), JSON.stringify(document, null, 2)]) {
        expect(verifyEvidence(form, KEYS)).toEqual({ status: "verified", document });
      }
    }
  });

  it("is verified with any well-formed symbol and any equity; a symbol with half a surrogate pair cannot be signed", () => {
    const name = fc.string({ unit: "binary", maxLength: 250 }).filter((text) => text.length <= 250);
    const equity = fc.integer({ min: -1e12, max: 1e12 });
    fc.assert(
      fc.property(name, fc.array(equity, { maxLength: 40 }), (symbol, equities) => {
        const positions = (breachClaim().positions ?? []).map((position) => Object.assign({}, position, { symbol }));
        const claim = breachClaim({ valuationIndex: null, sequence: null }, { positions, to: "2027-01-01T00:00:00Z" });
        const records = equities.map((equityMinor, index) => valuation(index, equityMinor));
        expect(problemOf(JSON.stringify(buildEvidence(claim, records, SIGNER)))).toBeNull();
      }),
    );
    const [position] = breachClaim().positions ?? [];
    const half = breachClaim({}, { positions: [Object.assign({}, position, { symbol: "\uD800" })] });
    expect(() => buildEvidence(half, [], SIGNER)).toThrow("well-formed");
  });

  it("has the types that the client declares", () => {
    expectTypeOf<EvidenceDocument>().toExtend<ClientDocument>();
    expectTypeOf<EvidenceKeys>().toExtend<ClientKeys>();
  });

  it("is verified without any record, and with the largest number of records", () => {
    const { breach: _breach, rule: _rule, positions: _positions, ...scope } = breachClaim();
    const claim = { ...scope, kind: "interval" as const, to: "2026-12-31T00:00:00.000Z" };
    expect(problemOf(buildEvidence(claim, [], SIGNER))).toBeNull();
    const many = Array.from({ length: 20_000 }, (_, index) => valuation(index, 9_000_00));
    expect(problemOf(buildEvidence(claim, many, SIGNER))).toBeNull();
    expect(() => buildEvidence(claim, [...many, valuation(20_000, 1)], SIGNER)).toThrow("20000");
  });
});

describe("a changed document is not verified", () => {
  it("after any byte of it is changed", () => {
    for (const document of DOCUMENTS) {
      const bytes = Buffer.from(JSON.stringify(document));
      for (const [index, byte] of bytes.entries()) {
        // Every byte, with a small change, a change of case and a change of the highest bit.
        for (const difference of [1, 0x20, 0x80]) {
          bytes[index] = byte ^ difference;
          expect(problemOf(bytes), `byte ${index}: ${bytes.toString()}`).not.toBeNull();
        }
        bytes[index] = byte;
      }
    }
  });

  it("after a random byte is replaced, removed or added; white space alone changes nothing", () => {
    const text = JSON.stringify(BREACH);
    const bytes = Buffer.from(text);
    const place = fc.nat(bytes.length - 1);
    fc.assert(
      fc.property(place, fc.nat(255), fc.constantFrom(0, 1), fc.boolean(), (index, byte, removed, adds) => {
        const changed = Buffer.concat([
          bytes.subarray(0, index),
          Buffer.from(adds ? [byte] : []),
          bytes.subarray(index + removed),
        ]);
        let isSame = false;
        try {
          isSame = JSON.stringify(JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(changed))) === text;
        } catch {
          // No JSON any more.
        }
        expect(problemOf(changed) === null).toBe(isSame);
      }),
      { numRuns: 3_000 },
    );
  });

  it("after any member is changed, removed or added, at any depth", () => {
    for (const document of DOCUMENTS) {
      for (const path of pathsOf(document)) {
        for (const change of ["other", "removed", "added", "null"] as const) {
          const changed = copy(document);
          if (!changeAt(changed, path, change)) continue;
          expect(problemOf(changed), `${change} ${path.join(".")}`).not.toBeNull();
        }
      }
    }
  });

  it("after records are exchanged, removed, repeated or cut off, also with their hashes", () => {
    const indexes = fc.nat(RECORDS.length - 1);
    fc.assert(
      fc.property(indexes, indexes, fc.constantFrom("swap", "remove", "repeat", "cut"), fc.boolean(), (...drawn) => {
        const [one, other, change, withHashes] = drawn;
        fc.pre(change !== "swap" || one !== other);
        const changed = copy(BREACH) as { records: unknown[]; chain: { recordHashes: unknown[]; lastHash: unknown } };
        for (const list of withHashes ? [changed.records, changed.chain.recordHashes] : [changed.records]) {
          if (change === "swap") [list[one], list[other]] = [list[other], list[one]];
          if (change === "remove") list.splice(one, 1);
          if (change === "repeat") list.splice(one, 0, list[one]);
          if (change === "cut") list.length = one;
        }
        if (withHashes) changed.chain.lastHash = changed.chain.recordHashes.at(-1) ?? BREACH.chain.headerHash;
        expect(problemOf(changed)).not.toBeNull();
        expect(problemOf(rehashed(changed as unknown as Json))).toBe("wrong_signature");
      }),
    );
  });

  it("and the result names the first part that differs", () => {
    const changed = copy(BREACH) as unknown as { records: { equity: string }[]; breach: object };
    Object.assign(changed.records[6] ?? {}, { equity: "9466.91" });
    expect(verifyEvidence(changed, KEYS)).toMatchObject({ problem: { code: "record_changed", index: 6 } });
    Object.assign(changed.records[2] ?? {}, { equity: "9640.01" });
    expect(verifyEvidence(changed, KEYS)).toMatchObject({ problem: { code: "record_changed", index: 2 } });
    Object.assign(changed.breach, { value: "9499.99" });
    expect(verifyEvidence(changed, KEYS)).toMatchObject({ problem: { code: "header_changed" } });
    const cut = { ...BREACH, records: BREACH.records.slice(0, 3) };
    expect(verifyEvidence(cut, KEYS)).toMatchObject({ problem: { code: "record_count", records: 3, hashes: 10 } });
    expect(problemOf({ ...BREACH, chain: { ...BREACH.chain, lastHash: "0".repeat(64) } })).toBe("chain_changed");
  });

  it("even if all its hashes are computed again: the signature belongs to another document", () => {
    const changed = copy(BREACH);
    Object.assign(changed["breach"] as Json, { value: "9499.99" });
    expect(problemOf(rehashed(changed))).toBe("wrong_signature");
    expect(problemOf({ ...BREACH, signature: INTERVAL.signature })).toBe("wrong_signature");
    expect(problemOf({ ...INTERVAL, signature: BREACH.signature })).toBe("wrong_signature");
    const other = buildEvidence(breachClaim({ sequence: null }), RECORDS, SIGNER);
    expect(problemOf({ ...other, chain: BREACH.chain, signature: BREACH.signature })).toBe("header_changed");
  });

  it("if it has a repeated member, a number in another form, or an unknown format", () => {
    const text = JSON.stringify(BREACH);
    expect(problemOf(text.replace('"offset":1200', '"offset":1,"offset":1200'))).toBe("malformed");
    expect(problemOf(text.replace('"offset":1200', '"offset":1.2e3'))).toBe("malformed");
    const deep = "[".repeat(100_000) + "]".repeat(100_000);
    expect(problemOf(text.replace('"missing":[]', `"missing":${deep}`))).toBe("malformed");
    expect(problemOf(Buffer.from(text, "latin1"))).toBe("malformed");
    expect(problemOf(text.replace("evidence/1", "evidence/2"))).toBe("unknown_format");
    for (const no of ["", "null", "[]", "1", "{}", "\uFEFF{}"]) expect(problemOf(no)).not.toBeNull();
  });
});

describe("the key of a document", () => {
  it("must be known, and be the key that signed", () => {
    expect(problemOf(BREACH, publicKeys(keyring("2026-12", 7), []))).toBe("unknown_key");
    expect(problemOf(BREACH, publicKeys(keyring("2026-11", 8), []))).toBe("wrong_signature");
    // Two ids of one key: the id is signed too.
    const both = { keys: [...KEYS.keys, ...publicKeys(keyring("2026-12", 7), []).keys] };
    expect(problemOf({ ...BREACH, signature: { ...BREACH.signature, keyId: "2026-12" } }, both)).toBe(
      "wrong_signature",
    );
  });

  it("still verifies earlier documents after its retirement, but no document whose `createdAt` is after the retirement", () => {
    const publicKey = Buffer.from(KEYS.keys[0]?.publicKey ?? "", "base64url");
    const retired = (retiredAt: string): EvidenceKeys =>
      publicKeys(keyring("2027-01", 9), [{ keyId: "2026-11", publicKey, retiredAt }]);
    expect(problemOf(BREACH, retired(BREACH.createdAt))).toBeNull();
    expect(problemOf(BREACH, retired("2026-11-26T09:31:40.999Z"))).toBe("retired_key");
  });

  it("is published before it signs, and signs when it is the current key of the ring", () => {
    const later = keyring("2027-01", 9);
    const keys = new Map([...RING.keys, ...later.keys]);
    const published = publicKeys({ currentKeyId: "2026-11", keys }, []);
    expect(published.keys.map(({ keyId }) => keyId)).toEqual(["2026-11", "2027-01"]);
    const next = createSigner({ currentKeyId: "2027-01", keys });
    expect(problemOf(buildEvidence(breachClaim(), RECORDS, next), published)).toBeNull();
  });

  it("needs an id that no other key has, also after its retirement; malformed keys are rejected", () => {
    const retired = { keyId: "2026-11", publicKey: Buffer.alloc(32, 1), retiredAt: "2026-01-01T00:00:00.000Z" };
    expect(() => publicKeys(RING, [retired])).toThrow("its own id");
    expect(() => verifyEvidence(BREACH, { keys: [...KEYS.keys, ...KEYS.keys] })).toThrow(TypeError);
    expect(() => verifyEvidence(BREACH, {} as EvidenceKeys)).toThrow(TypeError);
    for (const wrong of [{ algorithm: "RSA" }, { publicKey: "AA" }, { retiredAt: "soon" }, { keyId: 1 }]) {
      const keys = { keys: KEYS.keys.map((key) => Object.assign({}, key, wrong)) } as unknown as EvidenceKeys;
      expect(() => verifyEvidence(BREACH, keys), JSON.stringify(wrong)).toThrow(TypeError);
    }
  });

  it("is an Ed25519 key as in RFC 8032: the keyring has the 32 bytes of the private key", () => {
    const seed = Buffer.from("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60", "hex");
    const ring = { currentKeyId: "rfc8032", keys: new Map([["rfc8032", seed]]) };
    expect(Buffer.from(publicKeys(ring, []).keys[0]?.publicKey ?? "", "base64url").toString("hex")).toBe(
      "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
    );
    expect(createSigner(ring).sign("").toString("hex")).toMatch(/^e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d8/);
    const pem =
      "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g\n-----END PRIVATE KEY-----";
    expect(createSigner(ring).sign("x")).toEqual(sign(null, Buffer.from("x"), createPrivateKey(pem)));
  });
});

/** The path of every member of a value, from the outside to the inside. */
function pathsOf(value: unknown, path: readonly string[] = []): (readonly string[])[] {
  if (typeof value !== "object" || value === null) return [path];
  return [path, ...Object.entries(value).flatMap(([name, member]) => pathsOf(member, [...path, name]))];
}

/** Changes the member at a path. Returns false if the document stays the same. */
function changeAt(document: Json, path: readonly string[], change: "other" | "removed" | "added" | "null"): boolean {
  const before = JSON.stringify(document);
  let parent: Json = document;
  for (const name of path.slice(0, -1)) parent = parent[name] as Json;
  const name = path.at(-1);
  const value: unknown = name === undefined ? document : parent[name];
  if (change === "added" && typeof value === "object" && value !== null) {
    if (Array.isArray(value)) value.push(value[0] ?? "more");
    else Object.assign(value, { more: null });
  } else if (name === undefined) return false;
  else if (change === "removed" && Array.isArray(parent)) parent.splice(Number(name), 1);
  else if (change === "removed") Reflect.deleteProperty(parent, name);
  else if (change === "null") parent[name] = null;
  else if (change === "other") parent[name] = otherThan(value);
  return JSON.stringify(document) !== before;
}

function otherThan(value: unknown): unknown {
  if (typeof value === "number") return value + 1;
  if (typeof value === "string") return `${value.slice(0, -1)}${value.endsWith("0") ? "1" : "0"}`;
  return value === null ? "x" : Object.values(value as object);
}
