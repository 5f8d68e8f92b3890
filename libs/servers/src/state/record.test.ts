import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

import { afterEach, beforeEach, describe, expect, it } from "vitest";

import { LocalError } from "../local-error.ts";
import { isAlive, type ProcessId, spawnProcess } from "../machine/processes.ts";
import { isRunning, StateRecord, stopRecorded } from "./record.ts";

let folder: string;
let stateFile: string;

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), "kapi-record-"));
  stateFile = path.join(folder, "state.json");
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** A process that would run for a minute. */
async function sleeper(): Promise<ProcessId> {
  const { id } = await spawnProcess({
    command: "sleep",
    args: ["60"],
    env: process.env,
    logFile: path.join(folder, "sleeper.log"),
  });
  return id;
}

/** The process id of a process that has ended. */
function deadPid(): Promise<number> {
  const child = spawn("true");
  return new Promise((resolve) => child.once("exit", () => resolve(child.pid ?? 0)));
}

async function leaveBehind(entry: ProcessId): Promise<void> {
  const owner = { pid: await deadPid(), startedAt: "long ago" };
  const started = [{ kind: "process", name: "sleeper", ...entry, stopSignal: "SIGTERM" }];
  writeFileSync(stateFile, JSON.stringify({ owner, started }));
}

describe("the state record", () => {
  it("ends the remaining processes of a killed run when the next run opens it", async () => {
    const left = await sleeper();
    await leaveBehind(left);
    const record = await StateRecord.open(folder);
    expect(isAlive(left)).toBe(false);
    await record.close();
  });

  it("does not end another process that has the pid of a listed one", async () => {
    const stranger = await sleeper();
    await leaveBehind({ pid: stranger.pid, startedAt: "another time" });
    expect(await stopRecorded(folder)).toBe(true);
    expect(isAlive(stranger)).toBe(true);
    process.kill(stranger.pid);
  });

  it("cannot be opened by a second run while the first run is alive", async () => {
    const record = await StateRecord.open(folder);
    expect(isRunning(folder)).toBe(true);
    await expect(StateRecord.open(folder)).rejects.toThrow(LocalError);
    await record.close();
    expect(isRunning(folder)).toBe(false);
  });

  it("ends the listed processes when it is closed, and also a process that is added later", async () => {
    const record = await StateRecord.open(folder);
    const early = { kind: "process", name: "early", ...(await sleeper()), stopSignal: "SIGTERM" } as const;
    record.add(early);
    expect(readFileSync(stateFile, "utf8")).toContain('"early"');
    await record.close();
    expect(isAlive(early)).toBe(false);
    const late = { kind: "process", name: "late", ...(await sleeper()), stopSignal: "SIGTERM" } as const;
    expect(() => record.add(late)).toThrow("everything is being stopped");
    await expect.poll(() => isAlive(late)).toBe(false);
  });

  it("has nothing to stop if it does not exist", async () => {
    expect(await stopRecorded(folder)).toBe(false);
  });
});
