import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

import { afterEach, beforeEach, expect, it } from "vitest";

import { endProcess, isAlive, lastLines, pauseProcess, spawnProcess, startTimeOf } from "./processes.ts";

/** Ends when its child has ended, like PostgreSQL. Prints the process id of the child. */
const PARENT = `
  sleep 60 &
  child=$!
  trap 'kill $child' TERM
  echo $child
  while kill -0 $child 2>/dev/null; do wait $child; done
  echo clean`;
const DEADLINE_MS = 2_000;

let folder: string;
let logFile: string;

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), "kapi-processes-"));
  logFile = path.join(folder, "parent.log");
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

it("endProcess resumes a paused process and its paused child: the process ends on SIGTERM without SIGKILL, and so does the child", async () => {
  const { id } = await spawnProcess({ command: "sh", args: ["-c", PARENT], env: process.env, logFile });
  await expect.poll(() => lastLines(logFile, 1)).toMatch(/^\d+$/);
  const pid = Number(lastLines(logFile, 1));
  const child = { pid, startedAt: startTimeOf(pid) ?? "" };
  await pauseProcess(id, DEADLINE_MS);
  await endProcess(id, "SIGTERM", DEADLINE_MS);
  expect(readFileSync(logFile, "utf8")).toContain("clean");
  expect([isAlive(id), isAlive(child)]).toEqual([false, false]);
});
