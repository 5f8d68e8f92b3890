/** The examples of the guides, run unchanged against a running kapi. */
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { promisify } from "node:util";

import { freePort } from "@kapi/servers";
import { eventually } from "@kapi/testkit";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { OutsideClient } from "../e2e/outside-client.ts";
import { type RunningSystem, startSystem } from "../e2e/system.ts";
import { TradingControl } from "../e2e/trading-control.ts";
import { type Language, programOf, typeScriptOf } from "./examples.ts";

const run = promisify(execFile);
const ROOT = path.resolve(import.meta.dirname, "../..");
/** Inside the repository, so that `@kapi/client` is found. */
const FOLDER = path.join(ROOT, ".local", `guides-${process.pid}`);
const PYTHON_PACKAGES = path.join(ROOT, ".local", "python");
const PROGRAM_TIMEOUT_MS = 50_000;
const INSTALL_TIMEOUT_MS = 100_000;

let system: RunningSystem;
let client: OutsideClient;
let control: TradingControl;

beforeAll(async () => {
  mkdirSync(FOLDER, { recursive: true });
  // Without a grace time, the digests of yesterday exist even in the first minutes of a day.
  system = await startSystem({ all: { DIGEST_GRACE_MS: "0" } });
  client = new OutsideClient(system.demo);
  control = new TradingControl(system.demo);
});

afterAll(async () => {
  await system.stop();
  rmSync(FOLDER, { recursive: true, force: true });
});

function environment(more: Readonly<Record<string, string>> = {}): NodeJS.ProcessEnv {
  const { baseUrl, wsBase, managementKey, serverId, tradingServerUrl } = system.demo;
  return {
    ...process.env,
    KAPI_URL: baseUrl,
    KAPI_LIVE_URL: wsBase,
    KAPI_KEY: managementKey,
    KAPI_SERVER: serverId,
    KAPI_CONTROL_URL: tradingServerUrl,
    PYTHONPATH: PYTHON_PACKAGES,
    ...more,
  };
}

/** Writes the program of a page to a file. Returns the command that runs it. */
function prepare(page: string, language: Language): readonly [string, string] {
  const file = path.join(FOLDER, `${path.parse(page).name}.${{ sh: "sh", ts: "ts", python: "py" }[language]}`);
  const strict = language === "sh" ? "set -euo pipefail\n" : "";
  writeFileSync(file, strict + programOf(page, language));
  return [{ sh: "bash", ts: process.execPath, python: "python3" }[language], file];
}

async function runProgram(
  page: string,
  language: Language,
  more?: Readonly<Record<string, string>>,
  timeout = PROGRAM_TIMEOUT_MS,
): Promise<string> {
  const [command, file] = prepare(page, language);
  const options = { cwd: FOLDER, env: environment(more), timeout };
  return (await run(command, [file], options)).stdout;
}

/** Installs `requests`, the only package that the Python quickstart needs, unless Python has it. */
async function installRequests(): Promise<void> {
  try {
    await run("python3", ["-c", "import requests"], { env: environment() });
  } catch {
    const install = ["-m", "pip", "install", "--quiet", "--target", PYTHON_PACKAGES, "requests"];
    await run("python3", install, { timeout: INSTALL_TIMEOUT_MS });
  }
}

describe("the quickstart", () => {
  it("works unchanged in a shell", async () => {
    const printed = await runProgram("quickstart.md", "sh");
    expect(printed).toMatch(/account: \d{8}/);
    expect(printed).toContain('"type":"initial_balance"');
  });

  it("works unchanged in TypeScript, and prints the live equity of the new account", async () => {
    const printed = await runProgram("quickstart.md", "ts");
    expect(printed).toContain("balance: 10250.55");
    expect(printed).toContain("duplicate: true same command: true");
    expect(printed).toMatch(/1 initial_balance 10000\.00 → 10000\.00/);
    expect(printed).toContain("equity: 10250.55");
  });

  it("works unchanged in Python", { timeout: INSTALL_TIMEOUT_MS + PROGRAM_TIMEOUT_MS }, async () => {
    await installRequests();
    const printed = await runProgram("quickstart.md", "python");
    expect(printed).toContain("balance: 10250.55");
    expect(printed).toContain("1 initial_balance 10000 → 10000");
  });
});

describe("the guide to Python", () => {
  it(
    "works unchanged in a separate Python environment",
    { timeout: INSTALL_TIMEOUT_MS + PROGRAM_TIMEOUT_MS },
    async () => {
      const venv = path.join(FOLDER, "venv");
      await run("python3", ["-m", "venv", venv]);
      const inVenv = { PATH: `${path.join(venv, "bin")}:${process.env["PATH"] ?? ""}` };
      await runProgram("python.md", "sh", inVenv, INSTALL_TIMEOUT_MS);
      const printed = await runProgram("python.md", "python", inVenv);
      expect(printed).toMatch(/account: \d{8}/);
      expect(printed).toContain("balance: 10250.55");
      expect(printed).toContain("rejected: 400 VALIDATION_FAILED");
      expect(printed).toContain("2 deposit 250.55\n1 initial_balance 10000");
      expect(printed).toContain("events of known kinds: True");
      expect(printed).toContain("forged: ");
    },
  );
});

describe("the guide to testing", () => {
  it("makes a position lose, injects faults, and removes them", async () => {
    const accountNumber = await client.openAccount(10_000);
    const printed = await runProgram("testing.md", "sh", { KAPI_ACCOUNT: accountNumber });
    expect(printed).toContain('"symbol":"EURUSD"');
    const { balanceMinor, equityMinor } = await control.account(accountNumber);
    expect(equityMinor).toBeLessThan(balanceMinor);
  });
});

describe("the prop-firm recipe", () => {
  it("flattens an account at its daily loss limit and not at a payout, then checks samples and daily digests", async () => {
    const accountNumber = await client.openAccount(10_000);
    const [command, file] = prepare("prop-firm-recipe.md", "ts");
    const engine = spawn(command, [file], { cwd: FOLDER, env: environment({ KAPI_ACCOUNT: accountNumber }) });
    let printed = "";
    for (const stream of [engine.stdout, engine.stderr]) stream.on("data", (text) => (printed += String(text)));
    const ended = new Promise<number | null>((resolve) => void engine.once("close", resolve));
    await eventually(() => expect(printed).toContain("rules of version 1 are active"));
    await eventually(() => expect(printed).toContain("applies to 0 accounts"));
    await eventually(() =>
      expect(readFileSync(path.join(FOLDER, `journal-${accountNumber}.json`), "utf8")).toBeTruthy(),
    );
    const deposit = await client.deposit(accountNumber, { amount: 3_000, requestId: "deposit" });
    await client.succeeded(deposit.body.command.id);
    const payout = await client.withdraw(accountNumber, { amount: 4_000, requestId: "payout" });
    await client.succeeded(payout.body.command.id);
    await control.holdPrice("EURUSD", 1.2, 1.2001);
    await control.buy(accountNumber, "EURUSD", 1);
    // A loss of 3 %: neither the deposit nor the payout counts as profit or loss.
    await control.holdPrice("EURUSD", 1.197, 1.1971);
    const breaches = client.server(`/accounts/${accountNumber}/breaches`);
    expect((await client.call<{ breaches: unknown[] }>("GET", breaches)).body.breaches).toEqual([]);
    // A loss of 6 %, above the limit of 5 %.
    await control.holdPrice("EURUSD", 1.194, 1.1941);
    expect(await ended, printed).toBe(0);
    expect(printed).toMatch(/daily-loss of \d{4}-\d\d-\d\d: 8\d{3}\.\d\d reached 8500\.00/);
    expect(printed).toContain('the action succeeded: {"status":"disabled","changed":true,"closed":[{');
    expect(printed).toMatch(/checked samples \d+ to \d+, contiguous: true, gaps: 0/);
    // The number may be 0: accounts that were opened today have no digest of yesterday.
    expect(printed).toMatch(/reconciled \d+ accounts of \d{4}-\d\d-\d\d: 0 differ/);
  });
});

describe("the guide to risk rules", () => {
  it("sets rules, lists breaches, flattens an account and shows the account's earlier state", async () => {
    const accountNumber = await client.openAccount(10_000);
    await control.buy(accountNumber, "GBPUSD", 0.01);
    const printed = await runProgram("risk.md", "ts", { KAPI_ACCOUNT: accountNumber });
    expect(printed).toContain("rules of version 1 are active\n");
    expect(printed).toContain("closed 1 positions, cancelled 0 orders\n");
    expect(printed).toMatch(/balance 9\d{3}\.\d\d, 0 open, equity not stored\n/);
  });
});

describe("the example of a webhook receiver", () => {
  it("processes each event once, rejects a forgery, and catches up after it was down", async () => {
    const page = "../webhooks.md";
    const port = await freePort();
    const url = `http://127.0.0.1:${port}/`;
    const { body } = await client.call<{ secret: string }>("POST", "/webhooks", { body: { url } });
    const file = path.join(FOLDER, "receiver.json");
    const [command, program] = prepare(page, "ts");
    const env = environment({ WEBHOOK_SECRET: body.secret, PORT: String(port), FILE: file });
    const started = async (): Promise<ChildProcess> => {
      const child = spawn(command, [program], { cwd: FOLDER, env });
      let printed = "";
      for (const stream of [child.stdout, child.stderr]) stream.on("data", (text) => (printed += String(text)));
      await eventually(() => expect(printed).toMatch(/caught up with \d+ events/));
      return child;
    };
    /** One item `account.created` for each processed event of this type. */
    const effects = (): string[] => {
      const stored = JSON.parse(readFileSync(file, "utf8")) as { effects: Record<string, string> };
      return Object.values(stored.effects).filter((type) => type === "account.created");
    };
    const first = await started();
    try {
      await client.openAccount(10_000);
      const inFeed = async (): Promise<number> => {
        const query = "/events?kinds=account.created&limit=1000";
        return (await client.call<{ events: unknown[] }>("GET", query)).body.events.length;
      };
      await eventually(async () => expect([effects().length]).toEqual([await inFeed()]));
      const before = effects().length;
      expect(before).toBeGreaterThan(0);
      const forged = await fetch(url, {
        method: "POST",
        body: '{"type":"account.created","data":{"eventId":"forged"}}',
      });
      expect(forged.status).toBe(400);
      expect(readFileSync(file, "utf8")).not.toContain("forged");
      first.kill("SIGKILL");
      await once(first, "close");
      await client.openAccount(10_000);
      // The receiver starts again only after the feed has the event.
      await eventually(async () => expect(await inFeed()).toBeGreaterThan(before));
      const second = await started();
      try {
        await eventually(async () => expect([effects().length]).toEqual([await inFeed()]));
      } finally {
        second.kill();
      }
    } finally {
      first.kill();
    }
  });
});

/** Pages outside of `files` have only fragments of TypeScript, which do not compile alone. */
it("the TypeScript of the guides with whole programs compiles against the client, strictly", async () => {
  const files = ["quickstart.md", "testing.md", "prop-firm-recipe.md", "evidence.md", "risk.md", "../webhooks.md"].map(
    (page) => {
      const file = path.join(FOLDER, `check-${path.parse(page).name}.ts`);
      writeFileSync(file, typeScriptOf(page));
      return file;
    },
  );
  const config = path.join(FOLDER, "tsconfig.json");
  const compilerOptions = {
    noPropertyAccessFromIndexSignature: false,
    noUnusedLocals: false,
    noUnusedParameters: false,
  };
  writeFileSync(config, JSON.stringify({ extends: path.join(ROOT, "tsconfig.base.json"), compilerOptions, files }));
  const tsc = path.join(ROOT, "node_modules", ".bin", "tsc");
  await run(process.execPath, [tsc, "-p", config], { cwd: FOLDER });
});
