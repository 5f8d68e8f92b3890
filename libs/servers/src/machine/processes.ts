import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { closeSync, existsSync, mkdirSync, openSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { getPriority, setPriority } from "node:os";
import path from "node:path";

import { delay } from "@kapi/kernel";

const POLL_MS = 20;
/** Started processes get this priority, also after {@link raisePriority}. */
const INITIAL_PRIORITY = getPriority();
const RAISED_PRIORITY = -10;
const OWN_SESSION = "/proc/self/autogroup";

/**
 * One process of this machine. The system reuses a pid for another process; the pid with its start
 * time is unique.
 */
export interface ProcessId {
  readonly pid: number;
  readonly startedAt: string;
}

/**
 * Gives this process a higher priority on a busy machine. For processes that simulate another
 * machine in a test. Only root may do this; for other users nothing changes.
 */
export function raisePriority(): void {
  try {
    setPriority(RAISED_PRIORITY);
    // With autogroups, Linux first shares the processors among sessions, then among the processes
    // of a session. Every process that `spawnProcess` starts has its own session.
    if (existsSync(OWN_SESSION)) writeFileSync(OWN_SESSION, String(RAISED_PRIORITY));
  } catch {
    // Not permitted.
  }
}

/** The start time of a process, as text to compare; null if no such process runs. */
export function startTimeOf(pid: number): string | null {
  if (process.platform === "linux") return linuxStartTime(pid);
  const { status, stdout } = spawnSync("ps", ["-o", "lstart=", "-p", String(pid)], { encoding: "utf8" });
  return status === 0 && stdout.trim() !== "" ? stdout.trim() : null;
}

function linuxStartTime(pid: number): string | null {
  try {
    // The start time is in ticks since boot.
    const fields = statFields(readFileSync(`/proc/${pid}/stat`, "utf8"));
    const [state, ticks] = [fields[0], fields[19]];
    if (state === "Z" || state === "X" || ticks === undefined) return null;
    return `${readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim()}:${ticks}`;
  } catch {
    return null;
  }
}

/** Whether the process still runs. Another process with the same pid does not count. */
export function isAlive(id: ProcessId): boolean {
  return startTimeOf(id.pid) === id.startedAt;
}

/** The command of a process, and where its output goes. */
export interface SpawnOptions {
  readonly command: string;
  readonly args: readonly string[];
  /** All environment variables of the process. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd?: string;
  /** The output of the process is appended to this file. */
  readonly logFile: string;
  /** The user that the process runs as. Only root may choose one. */
  readonly uid?: number;
  readonly gid?: number;
}

/**
 * Starts a process in its own group. So Ctrl-C in the terminal reaches only the parent, which must
 * then stop the process. Throws if the command cannot be run.
 */
export async function spawnProcess(options: SpawnOptions): Promise<{ id: ProcessId; child: ChildProcess }> {
  const { command, args, logFile, ...rest } = options;
  mkdirSync(path.dirname(logFile), { recursive: true });
  const log = openSync(logFile, "a");
  try {
    const child = spawn(command, args, { ...rest, detached: true, stdio: ["ignore", log, log] });
    const pid = child.pid;
    if (pid === undefined) {
      throw await new Promise<Error>((resolve) => child.once("error", resolve));
    }
    child.on("error", () => child.kill("SIGKILL"));
    if (getPriority() !== INITIAL_PRIORITY) setPriority(pid, INITIAL_PRIORITY);
    return { id: { pid, startedAt: startTimeOf(pid) ?? "gone" }, child };
  } finally {
    closeSync(log);
  }
}

/** Sends `signal` to the process; returns whether the process still ran. */
export function signalProcess(id: ProcessId, signal: NodeJS.Signals): boolean {
  if (!isAlive(id)) return false;
  try {
    process.kill(id.pid, signal);
    return true;
  } catch {
    return false;
  }
}

/**
 * Pauses the process and its descendants (SIGSTOP): the connections of PostgreSQL are processes of
 * their own. Returns when all threads have stopped: on a busy machine they still run for some time
 * after the signal. Throws if they do not stop within `deadlineMs`.
 */
export async function pauseProcess(id: ProcessId, deadlineMs: number): Promise<void> {
  const end = Date.now() + deadlineMs;
  signalProcess(id, "SIGSTOP");
  const pids = [id.pid, ...descendantsOf(id.pid)];
  signalAll(pids.slice(1), "SIGSTOP");
  while (!pids.every(standsStill)) {
    if (Date.now() > end) throw new Error(`process ${id.pid} did not stop within ${deadlineMs} ms`);
    await delay(POLL_MS);
  }
}

/** Resumes a process that {@link pauseProcess} paused, and its descendants. */
export function resumeProcess(id: ProcessId): void {
  if (!isAlive(id)) return;
  signalAll([...descendantsOf(id.pid), id.pid], "SIGCONT");
}

/**
 * Kills a process (SIGKILL), paused or not. Its descendants are resumed after that: those of
 * PostgreSQL then end by themselves. Returns when the process has ended, at the latest after
 * `deadlineMs`.
 */
export async function killProcess(id: ProcessId, deadlineMs: number): Promise<void> {
  if (!isAlive(id)) return;
  const descendants = descendantsOf(id.pid);
  signalProcess(id, "SIGKILL");
  await goneWithin(id, deadlineMs);
  signalAll(descendants, "SIGCONT");
}

function signalAll(pids: readonly number[], signal: NodeJS.Signals): void {
  for (const pid of pids) {
    try {
      process.kill(pid, signal);
    } catch {
      // It has ended.
    }
  }
}

/** All descendants of a process: its children, their children and so on. */
function descendantsOf(pid: number): number[] {
  const { stdout } = spawnSync("ps", ["-A", "-o", "pid=,ppid="], { encoding: "utf8" });
  const pairs = stdout.split("\n").map((line) => line.trim().split(/\s+/).map(Number));
  const found = [pid];
  for (const parent of found) {
    for (const [child, ppid] of pairs) if (ppid === parent && child !== undefined) found.push(child);
  }
  return found.slice(1);
}

function standsStill(pid: number): boolean {
  if (process.platform === "linux") {
    if (!existsSync(`/proc/${pid}/task`)) return true;
    return readdirSync(`/proc/${pid}/task`).every((thread) => stateOf(`/proc/${pid}/task/${thread}/stat`) === "T");
  }
  return spawnSync("ps", ["-o", "state=", "-p", String(pid)], { encoding: "utf8" })
    .stdout.trim()
    .startsWith("T");
}

/** The state in a `stat` file of Linux, one letter; null if the thread has ended. */
function stateOf(statFile: string): string | null {
  try {
    return statFields(readFileSync(statFile, "utf8"))[0] ?? null;
  } catch {
    return null;
  }
}

/**
 * The fields of a `stat` file after the name: index 0 is the 3rd field, the state; index 19 the
 * 22nd, the start time. The name is in brackets, and may contain spaces and brackets.
 */
function statFields(stat: string): string[] {
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ");
}

/**
 * Sends `signal` to the process, paused or not, and SIGKILL if the process still runs after
 * `deadlineMs`. Returns when the process has ended, at the latest after twice `deadlineMs`.
 */
export async function endProcess(id: ProcessId, signal: NodeJS.Signals, deadlineMs: number): Promise<void> {
  if (!signalProcess(id, signal)) return;
  // A paused process handles the signal only after it is resumed. It may wait for its descendants.
  resumeProcess(id);
  if (await goneWithin(id, deadlineMs)) return;
  await killProcess(id, deadlineMs);
}

async function goneWithin(id: ProcessId, deadlineMs: number): Promise<boolean> {
  const end = Date.now() + deadlineMs;
  while (isAlive(id)) {
    if (Date.now() > end) return false;
    await delay(POLL_MS);
  }
  return true;
}

/** The last lines of a log file, for an error text. */
export function lastLines(file: string, count: number): string {
  try {
    return readFileSync(file, "utf8").trimEnd().split("\n").slice(-count).join("\n");
  } catch {
    return "";
  }
}
