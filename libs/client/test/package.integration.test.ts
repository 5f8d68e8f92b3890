/**
 * The published package as a user gets it: packed, installed into an empty project, and run on the
 * user's Node.
 */
import { execFile } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";

import { afterAll, beforeAll, expect, it } from "vitest";

const run = promisify(execFile);
const CLIENT = path.resolve(import.meta.dirname, "..");
const PREPARE_TIMEOUT_MS = 180_000;
const RUN_TIMEOUT_MS = 60_000;
/** Maximum size of the package, in bytes. */
const MAX_BYTES = 300_000;

let folder: string;
let tarball: string;

/** PATH without the folders of this repository, so that `node` is the user's own. */
function usersPath(): string {
  const folders = (process.env["PATH"] ?? "").split(path.delimiter);
  return folders.filter((each) => !each.includes("node_modules")).join(path.delimiter);
}

async function inProject(command: string, ...args: readonly string[]): Promise<string> {
  const env = { ...process.env, PATH: usersPath() };
  return (await run(command, args, { cwd: folder, env, timeout: RUN_TIMEOUT_MS })).stdout;
}

beforeAll(async () => {
  folder = mkdtempSync(path.join(tmpdir(), "kapi-client-"));
  await run(process.execPath, ["build.mjs"], { cwd: CLIENT });
  const packed = await inProject("npm", "pack", "--silent", path.join(CLIENT, "dist"));
  tarball = packed.trim().split("\n").at(-1) ?? "";
  writeFileSync(path.join(folder, "package.json"), JSON.stringify({ name: "empty", private: true, type: "module" }));
  await run("npm", ["install", "--no-audit", "--no-fund", `./${tarball}`], {
    cwd: folder,
    env: { ...process.env, PATH: usersPath() },
    timeout: PREPARE_TIMEOUT_MS,
  });
}, PREPARE_TIMEOUT_MS);

afterAll(() => rmSync(folder, { recursive: true, force: true }));

it("the package has JavaScript and declarations without sources and tests, needs no other package of kapi, and is small", async () => {
  const listed = (await inProject("tar", "-tzf", tarball)).trim().split("\n");
  expect(listed).toContain("package/index.js");
  expect(listed).toContain("package/index.d.ts");
  expect(listed).toContain("package/README.md");
  expect(listed.filter((file) => !/\.(js|d\.ts|json|md)$/.test(file))).toEqual([]);
  expect(listed.filter((file) => file.includes("test.") || file.includes("src/"))).toEqual([]);
  const installed = readdirSync(path.join(folder, "node_modules", "@kapi"));
  expect(installed).toEqual(["client"]);
  const { size } = JSON.parse(
    await inProject("npm", "pack", "--json", "--dry-run", path.join(CLIENT, "dist")).then((text) =>
      text.slice(1, text.lastIndexOf("]")),
    ),
  ) as { size: number };
  expect(size).toBeLessThan(MAX_BYTES);
});

it("the package runs on the user's Node: a deposit and a live sample of the fake", async () => {
  writeFileSync(
    path.join(folder, "program.mjs"),
    `import { Kapi } from "@kapi/client";
import { createFakeKapi } from "@kapi/client/testing";
const fake = createFakeKapi();
const kapi = new Kapi(fake.options);
const server = kapi.server(fake.serverId);
const created = await server.accounts.create({ accountName: "A", initialBalance: "10", leverage: 100 }, { key: "k" });
const { accountNumber } = await created.result();
const { balanceAfter } = await (await server.account(accountNumber).deposit({ amount: "250.55" }, { key: "d" })).result();
const live = kapi.live({ places: { load: async () => null } });
const equity = await new Promise((resolve) => {
  live.follow({ serverId: fake.serverId, accountNumber }, (event) => resolve(event.sample.equity));
  fake.setEquity(accountNumber, "260.00");
});
await live.close();
console.log(process.versions.node, balanceAfter, equity);`,
  );
  expect(await inProject("node", "program.mjs")).toMatch(/^\d+\.\d+\.\d+ 260\.55 260\.00\n$/);
});

it("the package has the command line", async () => {
  expect(await inProject("npx", "--no-install", "kapi", "--version")).toMatch(/^\d+\.\d+\.\d+\n$/);
  expect(await inProject("npx", "--no-install", "kapi", "--help")).toContain("check-webhooks");
});

it("the package has types that compile in a strict project, and reject a number as an amount and a change without a key", async () => {
  writeFileSync(
    path.join(folder, "consumer.ts"),
    `import { CommandFailed, Kapi, type LiveEvent, type WebhookEvent } from "@kapi/client";
const kapi = new Kapi({ key: "kapi.a.b", baseUrl: "http://localhost" });
export async function balance(serverId: string): Promise<string> {
  try {
    const deposit = await kapi.server(serverId).account("1").deposit({ amount: "1" }, { key: "k" });
    return (await deposit.result()).balanceAfter;
  } catch (error) {
    if (error instanceof CommandFailed) return error.code;
    throw error;
  }
}
export function left(event: WebhookEvent): number {
  return event.type === "position.closed" ? event.data.openPositionCount : 0;
}
export function equity(event: LiveEvent): string {
  return event.type === "sample" ? event.sample.equity : event.type;
}
// @ts-expect-error an amount is a decimal string
void kapi.server("s").account("1").deposit({ amount: 1 }, { key: "k" });
// @ts-expect-error a change needs a key
void kapi.server("s").account("1").disable({});
`,
  );
  const compilerOptions = {
    strict: true,
    exactOptionalPropertyTypes: true,
    skipLibCheck: false,
    noEmit: true,
    target: "es2022",
    module: "nodenext",
    types: [],
  };
  writeFileSync(path.join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, files: ["consumer.ts"] }));
  const tsc = path.resolve(CLIENT, "node_modules", "typescript", "bin", "tsc");
  await run(process.execPath, [tsc, "-p", folder], { timeout: RUN_TIMEOUT_MS }).catch((error: { stdout: string }) => {
    throw new Error(error.stdout);
  });
});
