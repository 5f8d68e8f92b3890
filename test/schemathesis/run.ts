/**
 * `npm run verify -- schemathesis`: starts a stack and runs all checks of Schemathesis against its
 * `/openapi.json`. Schemathesis is installed from PyPI into a folder of the checkout. Schemathesis
 * calls only 127.0.0.1. The run exits with the exit code of Schemathesis.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";

import type { Demo } from "@kapi/local";
import { LocalError } from "@kapi/servers";

import { examinedStateDir, LOCAL, startExamined } from "./examined-stack.ts";

const VERSION = "4.32.5";
const STATE_DIR = examinedStateDir("schemathesis");
const VENV = path.join(LOCAL, `schemathesis-${VERSION}`);
const SCHEMATHESIS = path.join(VENV, "bin", "schemathesis");
/** Number of examples for each operation and each phase of Schemathesis. */
const EXAMPLES = process.env["SCHEMATHESIS_EXAMPLES"] ?? "50";
const SEED = process.env["SCHEMATHESIS_SEED"] ?? "1";
/** Longer than the longest `wait` for a command, in seconds. */
const TIMEOUT_S = "40";
const SETUP_DEADLINE_MS = 30_000;

async function main(): Promise<number> {
  await install();
  const { demo, stop } = await startExamined("schemathesis");
  try {
    return await examine(demo, await openAccount(demo), await openAccount(demo));
  } finally {
    await stop();
  }
}

/** Installs Schemathesis into the folder of its version, unless the folder has it. */
async function install(): Promise<void> {
  if (existsSync(SCHEMATHESIS)) return;
  mkdirSync(LOCAL, { recursive: true });
  if ((await run("python3", ["-m", "venv", VENV])) !== 0) {
    throw new LocalError("Schemathesis needs Python 3.10 or later with venv (Debian: apt-get install python3-venv).");
  }
  const pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", `schemathesis==${VERSION}`];
  if ((await run(path.join(VENV, "bin", "python"), pip)) !== 0) throw new LocalError("pip could not get Schemathesis.");
}

/** Deletions are sent to the account `spare`, so that `accountNumber` continues to exist. */
async function examine(demo: Demo, accountNumber: string, spare: string): Promise<number> {
  const config = path.join(STATE_DIR, "schemathesis.toml");
  writeFileSync(config, configuration(demo, accountNumber));
  const limits = ["--max-examples", EXAMPLES, "--seed", SEED, "--workers", "1", "--request-timeout", TIMEOUT_S];
  const options = ["--checks", "all", ...limits, "--no-color"];
  const args = ["--config-file", config, "run", `${demo.baseUrl}/openapi.json`, ...options];
  const hooks = {
    PYTHONPATH: import.meta.dirname,
    SCHEMATHESIS_HOOKS: "hooks",
    SPARE_ACCOUNT: spare,
    BASE_URL: demo.baseUrl,
    AUTHORIZATION: `Management ${demo.managementKey}`,
  };
  return run(SCHEMATHESIS, args, { ...hooks, PYTHONDONTWRITEBYTECODE: "1" });
}

/**
 * The configuration of Schemathesis: the management key, and an existing server and account.
 * `hooks.py` adapts other values of the requests.
 */
function configuration({ managementKey, serverId }: Demo, accountNumber: string): string {
  return `
headers = { Authorization = "Management ${managementKey}" }

[parameters]
"path.serverId" = "${serverId}"
"path.accountNumber" = "${accountNumber}"

# An OpenAPI link replaces the wrong endpoint id of a request with the id of a real endpoint.
# Schemathesis still expects a rejection of the request, so this check is off.
[[operations]]
include-operation-id = "deleteWebhook"
checks.negative_data_rejection.enabled = false
`;
}

async function openAccount(demo: Demo): Promise<string> {
  const url = `${demo.baseUrl}/api/v1/management`;
  const headers = { authorization: `Management ${demo.managementKey}`, "content-type": "application/json" };
  const body = JSON.stringify({ accountName: "Examined", initialBalance: 1_000, leverage: 100, requestId: "examined" });
  const created = await fetch(`${url}/servers/${demo.serverId}/accounts`, {
    method: "POST",
    headers: { ...headers, "idempotency-key": randomUUID() },
    body,
    signal: AbortSignal.timeout(SETUP_DEADLINE_MS),
  });
  const { command } = (await created.json()) as { command: { id: string } };
  const signal = AbortSignal.timeout(SETUP_DEADLINE_MS);
  const finished = await fetch(`${url}/commands/${command.id}?wait=20`, { headers, signal });
  const { result } = ((await finished.json()) as { command: { result: { accountNumber: string } } }).command;
  return result.accountNumber;
}

function run(command: string, args: readonly string[], more: Readonly<Record<string, string>> = {}): Promise<number> {
  const { PATH = "", HOME = "" } = process.env;
  return new Promise((resolve, reject) => {
    // Python and Schemathesis write files to their working directory. Git ignores `.local`.
    const child: ChildProcess = spawn(command, args, { cwd: LOCAL, stdio: "inherit", env: { PATH, HOME, ...more } });
    child.once("error", reject);
    child.once("exit", (code) => resolve(code ?? 1));
  });
}

process.exitCode = await main();
