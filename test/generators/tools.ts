/** The generators and compilers of other projects, each in an exact version. */
import { execFile } from "node:child_process";
import { cpSync } from "node:fs";
import path from "node:path";
import { promisify } from "node:util";

import { LocalError } from "@kapi/servers";

/**
 * Folder of the package.json with the npm packages. TypeScript is version 5, whose API the
 * generators use. The package.json has no `"type": "module"`, so that imports of compiled programs
 * need no file extensions.
 */
const NPM_PACKAGES = path.join(import.meta.dirname, "packages");
const PYTHON_PACKAGES = ["openapi-python-client==0.29.1", "mypy==2.4.1"];
const INSTALL_TIMEOUT_MS = 600_000;
const RUN_TIMEOUT_MS = 180_000;
const MAX_OUTPUT_BYTES = 16 * 1_024 * 1_024;

const execute = promisify(execFile);

type Environment = Readonly<Record<string, string>>;

export interface Tools {
  /** The folder with the tools, where they run. */
  readonly folder: string;
  /** Runs a command of an npm package. Returns its output. @throws Error if it fails. */
  readonly npx: (command: string, args: readonly string[]) => Promise<string>;
  /** Runs a program of the Python environment, in the same way. */
  readonly python: (command: string, args: readonly string[], env?: Environment) => Promise<string>;
  /** Runs a compiled program with Node, in the same way. */
  readonly node: (file: string, env: Environment) => Promise<string>;
}

/** Installs every tool into the folder. @throws LocalError if a registry or Python is missing. */
export async function installTools(folder: string): Promise<Tools> {
  cpSync(NPM_PACKAGES, folder, { recursive: true });
  const npmFlags = ["--no-audit", "--no-fund", "--loglevel=error", "--ignore-scripts"];
  const pipFlags = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
  const venv = path.join(folder, "venv");
  const inVenv = (command: string): string => path.join(venv, "bin", command);
  const install = { cwd: folder, timeout: INSTALL_TIMEOUT_MS };
  await needs("npm, and its registry", execute("npm", ["ci", ...npmFlags], install));
  await needs("Python 3.10 or later with venv", execute("python3", ["-m", "venv", venv], install));
  await needs("PyPI", execute(inVenv("python"), [...pipFlags, ...PYTHON_PACKAGES], install));
  const run = (file: string, args: readonly string[], env: Environment = {}) => outputOf(folder, file, args, env);
  return {
    folder,
    npx: (command, args) => run(path.join(folder, "node_modules/.bin", command), args),
    python: (command, args, env) => run(inVenv(command), args, env),
    node: (file, env) => run(process.execPath, [file], env),
  };
}

async function needs(what: string, installed: Promise<unknown>): Promise<void> {
  try {
    await installed;
  } catch (error) {
    throw new LocalError(`The generators need ${what}. Nothing was tested. ${reasonOf(error)}`);
  }
}

async function outputOf(cwd: string, file: string, args: readonly string[], env: Environment): Promise<string> {
  const options = { cwd, env: { ...process.env, ...env }, timeout: RUN_TIMEOUT_MS, maxBuffer: MAX_OUTPUT_BYTES };
  try {
    return (await execute(file, [...args], options)).stdout;
  } catch (error) {
    throw new Error(reasonOf(error), { cause: error });
  }
}

/** The message of the error, and below it what the program printed. */
function reasonOf(error: unknown): string {
  const { stdout = "", stderr = "", message } = error as { stdout?: string; stderr?: string; message: string };
  return [message, stdout, stderr].filter((text) => text !== "").join("\n");
}
