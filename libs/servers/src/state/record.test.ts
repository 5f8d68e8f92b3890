import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

import { afterEach, beforeEach, describe, expect, it } from "vitest";

import { LocalError } from "../local-error.ts";
import { isAlive, lastLines, type ProcessId, spawnProcess } from "../machine/processes.ts";
import { isRunning, StateRecord, stopRecorded } from "./record.ts";

let folder: string;
let stateFile: string;

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), "kapi-record-"));
  stateFile = path.join(folder, "state.json");
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** A process that would run for a minute. */
function sleeper(): Promise<ProcessId> {
  return spawned("sleep", ["60"]);
}

async function spawned(command: string, args: readonly string[]): Promise<ProcessId> {
  const { id } = await spawnProcess({ command, args, env: process.env, logFile: path.join(folder, "process.log") });
  return id;
}

/** A process that ends 0.5 s after SIGTERM. */
async function slowToEnd(): Promise<ProcessId> {
  const id = await spawned("sh", ["-c", "trap 'sleep 0.5; exit' TERM; echo ready; while :; do sleep 0.02; done"]);
  await expect.poll(() => lastLines(path.join(folder, "process.log"), 1)).toBe("ready");
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

  it("is opened by only one of two runs that start at once after a killed run", async () => {
    const left = await sleeper();
    await leaveBehind(left);
    const [first, second] = await Promise.allSettled([StateRecord.open(folder), StateRecord.open(folder)]);
    expect([first.status, second.status]).toEqual(["fulfilled", "rejected"]);
    expect(isAlive(left)).toBe(false);
    if (first.status === "fulfilled") await first.value.close();
  });

  it("of a run that starts while the former run is being stopped is left alone", async () => {
    const former = await slowToEnd();
    writeFileSync(stateFile, JSON.stringify({ owner: former, started: [] }));
    const stopping = stopRecorded(folder);
    rmSync(stateFile);
    const record = await StateRecord.open(folder);
    const started = { kind: "process", name: "started", ...(await sleeper()), stopSignal: "SIGTERM" } as const;
    record.add(started);
    expect(await stopping).toBe(true);
    expect([isAlive(former), isAlive(started), isRunning(folder)]).toEqual([false, true, true]);
    await record.close();
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

  it("ends a running command when it is closed, and runs no command afterwards", async () => {
    const record = await StateRecord.open(folder);
    const running = record.run("command", "sleep", ["60"], { timeoutMs: 60_000 });
    expect(readFileSync(stateFile, "utf8")).toContain('"command"');
    await Promise.all([expect(running).rejects.toThrow("sleep failed"), record.close()]);
    const late = record.run("late", "sleep", ["60"], { timeoutMs: 60_000 });
    await expect(late).rejects.toThrow("everything is being stopped");
  });

  it("does not list a command that has ended", async () => {
    const record = await StateRecord.open(folder);
    await record.run("command", "true", [], { timeoutMs: 60_000 });
    expect(readFileSync(stateFile, "utf8")).not.toContain('"command"');
    await record.close();
  });

  it("has nothing to stop if it does not exist", async () => {
    expect(await stopRecorded(folder)).toBe(false);
  });
});
