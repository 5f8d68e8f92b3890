/** The test vector for authors of verifiers; `npx vitest run libs/evidence --update` writes it. */
import path from "node:path";

import { verifyEvidence } from "@kapi/client";
import { canonicalJson } from "@kapi/kernel";
import { expect, it } from "vitest";

import { BREACH, INTERVAL, KEYS } from "./documents.ts";

const FOLDER = path.resolve(import.meta.dirname, "../../../docs/examples/evidence");

const { records, chain, signature, ...header } = BREACH;
const STEPS = {
  canonicalHeader: canonicalJson(header),
  headerHash: chain.headerHash,
  records: records.map((record, index) => ({ canonical: canonicalJson(record), hash: chain.recordHashes[index] })),
  signedText: `kapi-evidence/1\n${signature.keyId}\n${chain.headerHash}\n${chain.lastHash}\n`,
  signatureHex: Buffer.from(signature.value, "base64url").toString("hex"),
};

it.each([
  ["keys.json", KEYS],
  ["breach.json", BREACH],
  ["breach-steps.json", STEPS],
  ["interval.json", INTERVAL],
])("the file %s of the test vector is exactly what this library makes", async (file, value) => {
  await expect(`${JSON.stringify(value, null, 2)}\n`).toMatchFileSnapshot(path.join(FOLDER, file));
});

it("the documents of the test vector are verified", () => {
  for (const document of [BREACH, INTERVAL]) expect(verifyEvidence(document, KEYS).status).toBe("verified");
});
