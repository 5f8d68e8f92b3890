import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

import { startTestStack, type TestStack } from "@kapi/local/test-stack";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

const ROOT = path.resolve(import.meta.dirname, "../../..");
/** If all of these variables are set, the command does not use the running kapi. */
const GIVEN = new Set(["KAFKA_BROKERS", "POSTGRES_URL", "TRADING_SERVER_SEALING_KEYS"]);
const NO_SERVER = "0190f6d2-0000-4000-8000-000000000001";

/** Runs the command as npm does. The environment has the state folder, but no server addresses. */
function rebuildHistory(stateDir: string, ...args: string[]): Promise<{ code: number | null; text: string }> {
  const kept = Object.entries(process.env).filter(([name]) => !GIVEN.has(name));
  const child = spawn(process.execPath, [path.join(ROOT, "deploy/local/src/rebuild-history.ts"), ...args], {
    cwd: ROOT,
    env: { ...Object.fromEntries(kept), KAPI_STATE_DIR: stateDir },
  });
  let text = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (text += String(chunk)));
  return new Promise((resolve) => child.on("close", (code) => resolve({ code, text })));
}

describe("npm run rebuild-history", () => {
  let stack: TestStack;
  let stateDir: string;
  beforeAll(async () => {
    stack = await startTestStack();
    stateDir = `${stack.environment.stateDir}-stack`;
  });
  afterAll(() => stack.stop());

  it("needs only the state folder to rebuild the accounts of the running kapi", async () => {
    const demo = await stack.createDemo({ autoTraders: 1 });
    const { code, text } = await rebuildHistory(stateDir, "--server", demo.serverId);
    expect(text).toMatch(/^1 of 1 accounts: \d+ events, 0 rows differed, 0 accounts failed$/m);
    expect(code).toBe(0);
  });

  it("prints one line if the server or the account is unknown, or if no kapi runs", async () => {
    const demo = await stack.createDemo();
    const unknown = await rebuildHistory(stateDir, "--server", NO_SERVER);
    expect(unknown).toEqual({ code: 2, text: `there is no server ${NO_SERVER} in the directory\n` });
    expect(await rebuildHistory(stateDir, "--server", demo.serverId, "--account", "99999999")).toEqual({
      code: 2,
      text: `server ${demo.serverId} has no account 99999999\n`,
    });
    const empty = mkdtempSync(path.join(tmpdir(), "kapi-nothing-"));
    const nothing = await rebuildHistory(empty, "--server", demo.serverId);
    rmSync(empty, { recursive: true });
    expect(nothing.code).toBe(1);
    expect(nothing.text).toMatch(/^No kapi runs in .*\. Start it with npm start, or set KAFKA_BROKERS, .*\n$/);
  });
});
