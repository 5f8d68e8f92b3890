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
  it("the next run ends the remaining processes of a killed run", async () => {
    const left = await sleeper();
    await leaveBehind(left);
    const record = await StateRecord.open(folder);
    expect(isAlive(left)).toBe(false);
    await record.close();
  });

  it("another process with the same pid is not ended", async () => {
    const stranger = await sleeper();
    await leaveBehind({ pid: stranger.pid, startedAt: "another time" });
    expect(await stopRecorded(folder)).toBe(true);
    expect(isAlive(stranger)).toBe(true);
    process.kill(stranger.pid);
  });

  it("a second run cannot open the folder of a live run", async () => {
    const record = await StateRecord.open(folder);
    expect(isRunning(folder)).toBe(true);
    await expect(StateRecord.open(folder)).rejects.toThrow(LocalError);
    await record.close();
    expect(isRunning(folder)).toBe(false);
  });

  it("of two runs that start at once after a killed run, only one opens the folder", async () => {
    const left = await sleeper();
    await leaveBehind(left);
    const [first, second] = await Promise.allSettled([StateRecord.open(folder), StateRecord.open(folder)]);
    expect([first.status, second.status]).toEqual(["fulfilled", "rejected"]);
    expect(isAlive(left)).toBe(false);
    if (first.status === "fulfilled") await first.value.close();
  });

  it("a run that started while the former run was being stopped is not stopped", async () => {
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

  it("closing ends the listed processes, and also processes that are added later", async () => {
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

  it("closing ends a running command, and no command is run later", async () => {
    const record = await StateRecord.open(folder);
    const running = record.run("command", "sleep", ["60"], { timeoutMs: 60_000 });
    expect(readFileSync(stateFile, "utf8")).toContain('"command"');
    await Promise.all([expect(running).rejects.toThrow("sleep failed"), record.close()]);
    const late = record.run("late", "sleep", ["60"], { timeoutMs: 60_000 });
    await expect(late).rejects.toThrow("everything is being stopped");
  });

  it("a command that has ended is not in the record", async () => {
    const record = await StateRecord.open(folder);
    await record.run("command", "true", [], { timeoutMs: 60_000 });
    expect(readFileSync(stateFile, "utf8")).not.toContain('"command"');
    await record.close();
  });

  it("without a record there is nothing to stop", async () => {
    expect(await stopRecorded(folder)).toBe(false);
  });
});
