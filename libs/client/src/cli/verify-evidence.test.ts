import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

import { runCommandLine } from "./program.ts";

const VECTOR = path.resolve(import.meta.dirname, "../../../../docs/examples/evidence");
const GUIDE = path.resolve(VECTOR, "../../guides/evidence.md");
const KEYS = path.join(VECTOR, "keys.json");
const BREACH = path.join(VECTOR, "breach.json");

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), "kapi-evidence-"));
  vi.stubGlobal("fetch", () => Promise.reject(new Error("no network")));
});
afterEach(() => {
  vi.unstubAllGlobals();
  rmSync(folder, { recursive: true });
});

async function verify(args: readonly string[], environment: Record<string, string> = {}) {
  const write = { out: "", err: "" };
  const code = await runCommandLine(["verify-evidence", ...args], {
    environment: { XDG_CONFIG_HOME: folder, ...environment },
    out: (text) => void (write.out += text),
    err: (text) => void (write.err += text),
    ask: () => Promise.resolve(""),
    readLine: () => Promise.resolve(""),
    isTerminal: false,
    columns: 80,
    nowMs: () => Date.now(),
    signal: new AbortController().signal,
  });
  return { code, ...write };
}

/** Writes a changed copy of the breach document; returns its path. */
function changed(from: string | RegExp, to: string): string {
  const file = path.join(folder, "changed.json");
  const text = readFileSync(BREACH, "utf8");
  writeFileSync(file, text.replace(from, to));
  expect(readFileSync(file, "utf8")).not.toBe(text);
  return file;
}

describe("kapi verify-evidence", () => {
  it("prints the claim and the result without a network or a sign-in, as the guide shows", async () => {
    const ran = await verify([BREACH, "--keys", KEYS]);
    expect(ran).toMatchObject({ code: 0, err: "" });
    expect(readFileSync(GUIDE, "utf8")).toContain(`\`\`\`\n${ran.out}\`\`\`\n`);
    const interval = await verify([path.join(VECTOR, "interval.json"), "--keys", KEYS]);
    expect(interval.out).toMatch(/^missing +samples \(expired\) from 2026-11-26T09:29:40.000Z$/m);
  });

  it("names the first difference, and exits with 1", async () => {
    const ran = await verify([changed('"equity": "9431.20"', '"equity": "9431.21"'), "--keys", KEYS]);
    expect(ran).toMatchObject({ code: 1, err: expect.stringContaining("is not verified") as string });
    expect(ran.out).toMatch(/^NOT VERIFIED: records\[5\] is the first record/);
    expect((await verify([changed("dailyLoss", "maxLoss"), "--keys", KEYS])).out).toContain("outside the records");
  });

  it("prints JSON for programs", async () => {
    const ran = await verify([BREACH, "--keys", KEYS, "--json"]);
    expect(JSON.parse(ran.out)).toMatchObject({ status: "verified", document: { accountNumber: "10000001" } });
    const no = await verify([changed("9431.20", "9431.21"), "--keys", KEYS, "--json"]);
    expect(JSON.parse(no.out)).toMatchObject({ status: "invalid", problem: { code: "header_changed" } });
  });

  it("fetches the keys of a kapi that --url or KAPI_URL names", async () => {
    const asked: string[] = [];
    vi.stubGlobal("fetch", (url: string) => {
      asked.push(url);
      return Promise.resolve(new Response(readFileSync(KEYS)));
    });
    expect(await verify([BREACH, "--url", "https://api.test/"])).toMatchObject({ code: 0 });
    expect(await verify([BREACH], { KAPI_URL: "https://other.test" })).toMatchObject({ code: 0 });
    const wrong = await verify([BREACH], { KAPI_URL: "localhost:8080" });
    expect(wrong).toMatchObject({ code: 2, err: expect.stringContaining("baseUrl must be an address") as string });
    const keysPath = "/.well-known/kapi-evidence-keys.json";
    expect(asked).toEqual([`https://api.test${keysPath}`, `https://other.test${keysPath}`]);
  });

  it.each([
    ["no network", () => Promise.reject(new Error("no network")), "no network"],
    ["status 500", () => Promise.resolve(new Response("{}", { status: 500 })), "it answered 500"],
    ["a response that is not JSON", () => Promise.resolve(new Response("<html>")), "not JSON"],
  ])("exits with 3 if the keys cannot be fetched: %s", async (_title, fetched, said) => {
    vi.stubGlobal("fetch", fetched);
    const ran = await verify([BREACH, "--url", "https://api.test"]);
    expect(ran).toMatchObject({ code: 3, out: "" });
    expect(ran.err).toContain(said);
  });

  it("names the option or file that is invalid", async () => {
    const wrong = path.join(folder, "wrong.json");
    writeFileSync(wrong, "{}");
    for (const [args, said] of [
      [[BREACH], "--keys"],
      [[BREACH, "--keys", KEYS, "--url", "https://api.test"], "either"],
      [[BREACH, "--keys", wrong], "kapi-evidence-keys.json"],
      [["nothing.json", "--keys", KEYS], "nothing.json cannot be read"],
      [[BREACH, "--url", "api.test"], "It must be an address"],
    ] as const) {
      const ran = await verify(args);
      expect(ran).toMatchObject({ code: 2, out: "" });
      expect(ran.err).toContain(said);
    }
  });

  it("prints no control characters of a document", async () => {
    const ran = await verify([changed("kapi-evidence/1", "\\u001b[2J\\u009b"), "--keys", KEYS]);
    expect(ran.code).toBe(1);
    // eslint-disable-next-line no-control-regex
    expect(ran.out).not.toMatch(/[\u0000-\u0009\u000B-\u001F\u007F-\u009F]/);
  });
});
