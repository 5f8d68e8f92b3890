/**
 * Every gate of `npm run check` is red where it must be: each is run on a fixture that breaks it. A
 * gate that looked at nothing would pass everything, so what it looked at is checked too.
 */
import { spawnSync } from "node:child_process";
import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { describe, expect, it } from "vitest";

const ROOT = path.resolve(import.meta.dirname, "../..");
const MAX_OUTPUT_BYTES = 64 * 1024 * 1024;
const FIXTURES = path.join(import.meta.dirname, "fixtures");

function run(tool: string, args: readonly string[], cwd: string): { status: number | null; output: string } {
  const bin = path.join(ROOT, "node_modules", ".bin", tool);
  const result = spawnSync(process.execPath, [bin, ...args], {
    cwd,
    encoding: "utf8",
    timeout: 30_000,
    maxBuffer: MAX_OUTPUT_BYTES,
  });
  return { status: result.status, output: result.stdout + result.stderr };
}

interface Cruise {
  readonly modules: readonly { readonly source: string }[];
  readonly summary: {
    readonly violations: readonly { readonly rule: { readonly name: string } }[];
    readonly ruleSetUsed: { readonly forbidden: readonly { readonly name: string }[] };
  };
}

function cruise(cwd: string, folders: readonly string[]): Cruise {
  const config = path.join(ROOT, ".dependency-cruiser.mjs");
  return JSON.parse(run("depcruise", ["--config", config, "--output-type", "json", ...folders], cwd).output) as Cruise;
}

describe("the gates of npm run check", () => {
  it("the import rules are each broken in fixtures/imports", () => {
    const { violations, ruleSetUsed } = cruise(path.join(FIXTURES, "imports"), ["libs", "services"]).summary;
    const broken = new Set(violations.map((violation) => violation.rule.name));
    expect([...broken].toSorted()).toEqual(ruleSetUsed.forbidden.map((rule) => rule.name).toSorted());
  });

  it("the import rules see every service and library", () => {
    const seen = cruise(ROOT, ["libs", "services"]).modules.map((module) => module.source);
    const places = ["libs/kernel/", "libs/contracts/", "services/gateway/src/", "services/finance/src/"];
    for (const place of [...places, "services/console/page/src/pages/"]) {
      expect(seen.filter((source) => source.startsWith(place)).length).toBeGreaterThan(3);
    }
  });

  it("the linter refuses a promise nobody waits for, an any and a loose comparison", () => {
    const { status, output } = run(
      "oxlint",
      ["--type-aware", "-c", path.join(ROOT, ".oxlintrc.json"), path.join(FIXTURES, "lint")],
      ROOT,
    );
    expect(output).toContain("no-floating-promises");
    expect(output).toContain("no-explicit-any");
    expect(output).toContain("eqeqeq");
    expect(status).not.toBe(0);
  });

  it("the formatter refuses crooked code", () => {
    // The configuration leaves the fixtures alone, so a copy outside them is checked.
    const folder = mkdtempSync(path.join(tmpdir(), "kapi-format-"));
    copyFileSync(path.join(FIXTURES, "format", "crooked.ts"), path.join(folder, "crooked.ts"));
    const { status, output } = run("oxfmt", ["--check", "-c", path.join(ROOT, ".oxfmtrc.json"), "crooked.ts"], folder);
    rmSync(folder, { recursive: true });
    expect(output).toContain("crooked.ts");
    expect(status).not.toBe(0);
  });

  it("the type checker refuses an unchecked index", () => {
    const { status, output } = run("tsc", ["-p", path.join(FIXTURES, "types")], ROOT);
    expect(output).toContain("TS2322");
    expect(status).not.toBe(0);
  });

  it("the type checker sees the pages of the console", () => {
    const { status, output } = run("tsc", ["-p", "services/console/page", "--listFilesOnly"], ROOT);
    expect(output).toContain("services/console/page/src/pages/credits.tsx");
    expect(status).toBe(0);
  });

  it("the search for unused code finds a file, an export and a dependency that nothing uses", () => {
    const { status, output } = run("knip", ["--no-progress"], path.join(FIXTURES, "unused"));
    expect(output).toContain("orphan.ts");
    expect(output).toContain("unusedExport");
    expect(output).toContain("zod");
    expect(status).not.toBe(0);
  });
});
