/** Generates a client, compiles it with its program, and runs the program on a running kapi. */
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";

import type { Demo } from "@kapi/local";

import type { Report } from "./report.ts";
import type { Tools } from "./tools.ts";

const HERE = import.meta.dirname;
/** Strict, for a program that Node runs. The generated code is compiled too. */
const TSC_OPTIONS = {
  strict: "true",
  noUncheckedIndexedAccess: "true",
  module: "commonjs",
  moduleResolution: "node10",
  target: "es2023",
  lib: "es2023,dom,dom.iterable",
  types: "node",
} as const;
const TSC_FLAGS = Object.entries(TSC_OPTIONS).flatMap(([name, value]) => [`--${name}`, value]);
/** File with the OpenAPI document, without one of its schemas. */
export const BROKEN_DOCUMENT = "broken.json";
/** Configuration of the generated package. Without hooks it is not formatted. */
const PYTHON_CONFIG = "package_name_override: kapi_api\npost_hooks: []\n";

/** A generator of TypeScript. */
interface Generator {
  readonly name: string;
  /** The program `programs/<program>.ts.txt`. */
  readonly program: string;
  /** Generates from `openapi.json` into the folder. */
  readonly generate: (tools: Tools, folder: string) => Promise<string>;
  /** The text of a file that exports each generated type under the name of its schema. */
  readonly schemas: (names: readonly string[]) => string;
}

export const OPENAPI_TYPESCRIPT: Generator = {
  name: "openapi-typescript",
  program: "openapi-fetch",
  generate: ({ npx }, folder) => npx("openapi-typescript", ["openapi.json", "-o", `${folder}/openapi-typescript.ts`]),
  schemas: (names) =>
    [
      'import type { components } from "./openapi-typescript";',
      ...names.map((name) => `export type ${name} = components["schemas"]["${name}"];`),
      "",
    ].join("\n"),
};

export const HEY_API: Generator = {
  name: "@hey-api/openapi-ts",
  program: "hey-api",
  generate: ({ npx }, folder) => npx("openapi-ts", ["-i", "openapi.json", "-o", `${folder}/hey-api`]),
  schemas: () => 'export type * from "./hey-api";\n',
};

/**
 * Generates a TypeScript client, compiles it with its program and runs the program against `demo`.
 * Adds each step and each check to `report`, and stops after a failed step.
 */
export async function examineTypeScript(
  { name, program, generate, schemas }: Generator,
  tools: Tools,
  demo: Demo,
  report: Report,
): Promise<void> {
  const folder = path.join(tools.folder, program);
  mkdirSync(folder);
  if ((await report.step(`${name}: generates a client`, () => generate(tools, folder))) === null) return;
  report.figure(sizeOf(folder, ".ts"));
  cpSync(path.join(HERE, "checks.ts"), path.join(folder, "checks.ts"));
  cpSync(path.join(HERE, `programs/${program}.ts.txt`), path.join(folder, "program.ts"));
  cpSync(path.join(HERE, "programs/types.ts.txt"), path.join(folder, "types.ts"));
  writeFileSync(path.join(folder, "schemas.ts"), schemas(schemaNames(tools)));
  const compile = (): Promise<string> =>
    tools.npx("tsc", [...TSC_FLAGS, "--outDir", path.join(folder, "out"), path.join(folder, "program.ts")]);
  if ((await report.step(`${name}: the client and its program compile strictly`, compile)) === null) return;
  const run = (): Promise<string> => tools.node(path.join(folder, "out/program.js"), environmentOf(demo));
  const output = await report.step(`${name}: the program exits with 0`, run);
  if (output !== null) report.addProgram(name, output);
}

/**
 * Generates the Python client, checks the client and its program with mypy, and runs the program
 * against `demo`. The generator must also warn about {@link BROKEN_DOCUMENT}.
 */
export async function examinePython(tools: Tools, demo: Demo, report: Report): Promise<void> {
  const name = "openapi-python-client";
  const folder = path.join(tools.folder, "python");
  mkdirSync(folder);
  const config = path.join(folder, "config.yaml");
  writeFileSync(config, PYTHON_CONFIG);
  // Without the last flag the generator only warns of parts that it cannot generate.
  const flags = ["--meta", "none", "--config", config, "--fail-on-warning"];
  const generate = (document: string, output: string): Promise<string> =>
    tools.python(name, ["generate", "--path", document, "--output-path", output, ...flags]);
  await report.failingStep(
    `${name}: warns about the document without one of its schemas`,
    `${name} has no warning about a schema that is missing`,
    () => generate(BROKEN_DOCUMENT, path.join(tools.folder, "python-broken")),
  );
  const made = await report.step(`${name}: generates a client, without warnings`, () =>
    generate("openapi.json", path.join(folder, "kapi_api")),
  );
  if (made === null) return;
  report.figure(sizeOf(folder, ".py"));
  const program = path.join(folder, "program.py");
  cpSync(path.join(HERE, "programs/program.py"), program);
  const check = (): Promise<string> =>
    tools.python("mypy", ["--strict", path.join(folder, "kapi_api"), program], { MYPYPATH: folder });
  if ((await report.step(`${name}: mypy accepts the client and its program strictly`, check)) === null) return;
  const run = (): Promise<string> => tools.python("python", [program], environmentOf(demo));
  const output = await report.step(`${name}: the program exits with 0`, run);
  if (output !== null) report.addProgram(name, output);
}

function environmentOf({ baseUrl, managementKey, serverId }: Demo): Readonly<Record<string, string>> {
  return { KAPI_URL: baseUrl, KAPI_KEY: managementKey, KAPI_SERVER: serverId };
}

function schemaNames({ folder }: Tools): readonly string[] {
  const text = readFileSync(path.join(folder, "openapi.json"), "utf8");
  return Object.keys((JSON.parse(text) as { components: { schemas: object } }).components.schemas);
}

/** The number of files and lines that a generator made. */
function sizeOf(folder: string, extension: string): string {
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(extension));
  const lines = files.map((file) => readFileSync(path.join(folder, file), "utf8").split("\n").length);
  return `${files.length} files, ${lines.reduce((sum, count) => sum + count, 0)} lines`;
}
