/**
 * Every tool of `npm run gates` fails on a fixture that breaks its rules. For the import rules and
 * the type checker, the tests also check which files the tool reads, because a tool that reads no
 * files never fails.
 */
import { execFile } from "node:child_process";
import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { describe, expect, it, vi } from "vitest";

const ROOT = path.resolve(import.meta.dirname, "../..");
const MAX_OUTPUT_BYTES = 64 * 1024 * 1024;
/** Time limit of one tool, long enough for a busy machine. */
const TOOL_TIMEOUT_MS = 180_000;
/** Longer than the limit of a tool, so that the test can report the output of a late tool. */
vi.setConfig({ testTimeout: TOOL_TIMEOUT_MS + 10_000 });
const FIXTURES = path.join(import.meta.dirname, "fixtures");

interface Result {
  readonly status: number | null;
  readonly output: string;
}

/**
 * Runs an installed tool. This function must not block: while the tool runs, this worker of vitest
 * must answer vitest's main process.
 */
function run(tool: string, args: readonly string[], cwd: string): Promise<Result> {
  const bin = path.join(ROOT, "node_modules", ".bin", tool);
  const options = { cwd, timeout: TOOL_TIMEOUT_MS, maxBuffer: MAX_OUTPUT_BYTES };
  return new Promise((resolve, reject) => {
    const child = execFile(process.execPath, [bin, ...args], options, (_error, stdout, stderr) => {
      const output = stdout + stderr;
      if (child.signalCode === null) resolve({ status: child.exitCode, output });
      else reject(new Error(`${tool} did not end within ${TOOL_TIMEOUT_MS} ms: ${child.signalCode}. ${output}`));
    });
  });
}

interface Cruise {
  readonly modules: readonly { readonly source: string }[];
  readonly summary: {
    readonly violations: readonly { readonly rule: { readonly name: string } }[];
    readonly ruleSetUsed: { readonly forbidden: readonly { readonly name: string }[] };
  };
}

async function cruise(cwd: string, folders: readonly string[]): Promise<Cruise> {
  const config = path.join(ROOT, ".dependency-cruiser.mjs");
  const { output } = await run("depcruise", ["--config", config, "--output-type", "json", ...folders], cwd);
  return JSON.parse(output) as Cruise;
}

describe("in npm run gates,", () => {
  it("every import rule finds a violation in fixtures/imports", async () => {
    const { violations, ruleSetUsed } = (await cruise(path.join(FIXTURES, "imports"), ["libs", "services"])).summary;
    const broken = new Set(violations.map((violation) => violation.rule.name));
    expect([...broken].toSorted()).toEqual(ruleSetUsed.forbidden.map((rule) => rule.name).toSorted());
  });

  it("the import rules see libraries, services and the pages of the console", async () => {
    const seen = (await cruise(ROOT, ["libs", "services"])).modules.map((module) => module.source);
    const places = ["libs/kernel/", "libs/contracts/", "services/gateway/src/", "services/finance/src/"];
    for (const place of [...places, "services/console/page/src/pages/"]) {
      expect(seen.filter((source) => source.startsWith(place)).length).toBeGreaterThan(3);
    }
  });

  it("the linter rejects a promise without await, an any and a loose comparison", async () => {
    const { status, output } = await run(
      "oxlint",
      ["--type-aware", "-c", path.join(ROOT, ".oxlintrc.json"), path.join(FIXTURES, "lint")],
      ROOT,
    );
    expect(output).toContain("no-floating-promises");
    expect(output).toContain("no-explicit-any");
    expect(output).toContain("eqeqeq");
    expect(status).not.toBe(0);
  });

  it("the formatter rejects unformatted code", async () => {
    // The configuration ignores the fixtures, so the test checks a copy in another folder.
    const folder = mkdtempSync(path.join(tmpdir(), "kapi-format-"));
    copyFileSync(path.join(FIXTURES, "format", "crooked.ts"), path.join(folder, "crooked.ts"));
    const { status, output } = await run(
      "oxfmt",
      ["--check", "-c", path.join(ROOT, ".oxfmtrc.json"), "crooked.ts"],
      folder,
    );
    rmSync(folder, { recursive: true });
    expect(output).toContain("crooked.ts");
    expect(status).not.toBe(0);
  });

  it("the type checker rejects an unchecked index", async () => {
    const { status, output } = await run("tsc", ["-p", path.join(FIXTURES, "types")], ROOT);
    expect(output).toContain("TS2322");
    expect(status).not.toBe(0);
  });

  it("the type checker sees the pages of the console", async () => {
    const { status, output } = await run("tsc", ["-p", "services/console/page", "--listFilesOnly"], ROOT);
    expect(output).toContain("services/console/page/src/pages/credits.tsx");
    expect(status).toBe(0);
  });

  it("the search for unused code finds an unused file, export and dependency", async () => {
    const { status, output } = await run("knip", ["--no-progress"], path.join(FIXTURES, "unused"));
    expect(output).toContain("orphan.ts");
    expect(output).toContain("unusedExport");
    expect(output).toContain("zod");
    expect(status).not.toBe(0);
  });
});
