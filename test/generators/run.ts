/**
 * `npm run verify -- generators`: validates the `/openapi.json` of a running kapi, and generates
 * clients from it. Each client is compiled strictly (Python: checked by mypy) with a small program,
 * and the program calls kapi. The generators come from npm and PyPI, into a temporary folder. The
 * run prints one line for each check, and exits with 1 if a check failed.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

import type { Demo } from "@kapi/local";

import { startExamined } from "../schemathesis/examined-stack.ts";
import { BROKEN_DOCUMENT, examinePython, examineTypeScript, HEY_API, OPENAPI_TYPESCRIPT } from "./examine.ts";
import { Report } from "./report.ts";
import { installTools, type Tools } from "./tools.ts";

async function main(): Promise<number> {
  const folder = mkdtempSync(path.join(tmpdir(), "kapi-generators-"));
  try {
    const tools = await installTools(folder);
    const { demo, stop } = await startExamined("generators");
    try {
      return await examine(tools, demo);
    } finally {
      await stop();
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Runs every check. Returns the exit code. */
async function examine(tools: Tools, demo: Demo): Promise<number> {
  const report = new Report();
  const document = (await (await fetch(`${demo.baseUrl}/openapi.json`)).json()) as Document;
  writeFileSync(path.join(tools.folder, "openapi.json"), JSON.stringify(document));
  await validate(tools, document, report);
  await examineTypeScript(OPENAPI_TYPESCRIPT, tools, demo, report);
  await examineTypeScript(HEY_API, tools, demo, report);
  await examinePython(tools, demo, report);
  return report.end();
}

interface Document {
  readonly components: { readonly schemas: Readonly<Record<string, unknown>> };
  readonly [field: string]: unknown;
}

/** Redocly must accept the document, and reject the document without one of its schemas. */
async function validate(tools: Tools, document: Document, report: Report): Promise<void> {
  const lint = (file: string) => tools.npx("redocly", ["lint", file, "--extends=spec"]);
  await report.step("Redocly: the document is valid OpenAPI 3.1", () => lint("openapi.json"));
  const { Pagination: _left, ...schemas } = document.components.schemas;
  const broken = { ...document, components: { ...document.components, schemas } };
  writeFileSync(path.join(tools.folder, BROKEN_DOCUMENT), JSON.stringify(broken));
  await report.failingStep(
    "Redocly: the document without one of its schemas is invalid",
    "Redocly accepts a reference to a schema that is missing",
    () => lint(BROKEN_DOCUMENT),
  );
}

process.exitCode = await main();
