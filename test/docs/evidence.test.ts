/** The program of the guide to evidence, run unchanged on the test vector. */
import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";

import { verifyEvidence, parseEvidenceKeys } from "@kapi/client";
import { afterAll, beforeAll, expect, it } from "vitest";

import { programOf } from "./examples.ts";

const run = promisify(execFile);
const VECTOR = path.resolve(import.meta.dirname, "../../docs/examples/evidence");
const KEYS = path.join(VECTOR, "keys.json");
const PROGRAM_TIMEOUT_MS = 20_000;

let folder: string;

beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), "kapi-evidence-"));
  writeFileSync(path.join(folder, "verify.py"), programOf("evidence.md", "python"));
});

afterAll(() => rmSync(folder, { recursive: true }));

/** Returns the program's output for a document. Rejects if the program refuses the document. */
async function verifyWithPython(text: string): Promise<string> {
  const file = path.join(folder, "evidence.json");
  writeFileSync(file, text);
  const program = path.join(folder, "verify.py");
  return (await run("python3", [program, file, KEYS], { timeout: PROGRAM_TIMEOUT_MS })).stdout;
}

it.each(["breach.json", "interval.json"])("the Python program of the documentation verifies %s", async (file) => {
  const printed = await verifyWithPython(readFileSync(path.join(VECTOR, file), "utf8"));
  expect(printed).toBe("verified: 10000001 2026-11-26T09:31:41.000Z\n");
});

it.each([
  ["a changed value in a record", '"equity": "9431.20"', '"equity": "9431.21"'],
  ["a changed value outside the records", '"threshold": "9500.00"', '"threshold": "9500.01"'],
  ["a repeated JSON member", '"offset": 1200', '"offset": 1, "offset": 1200'],
  ["a changed signature", /(.)"\n {2}\}\n\}\n$/, '_"\n  }\n}\n'],
  ["a changed last hash", /"lastHash": "./, '"lastHash": "x'],
])("the Python program of the documentation and the client refuse a document with %s", async (_title, from, to) => {
  const text = readFileSync(path.join(VECTOR, "breach.json"), "utf8");
  const changed = text.replace(from, to);
  expect(changed).not.toBe(text);
  await expect(verifyWithPython(changed)).rejects.toThrow("Command failed");
  expect(verifyEvidence(changed, parseEvidenceKeys(readFileSync(KEYS, "utf8"))).status).toBe("invalid");
});
