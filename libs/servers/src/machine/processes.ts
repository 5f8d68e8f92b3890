import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { closeSync, existsSync, mkdirSync, openSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { getPriority, setPriority } from "node:os";
import path from "node:path";

import { delay } from "@kapi/kernel";

const POLL_MS = 20;
/** What is started has it, also after {@link raisePriority}. */
const INITIAL_PRIORITY = getPriority();
const RAISED_PRIORITY = -10;
const OWN_SESSION = "/proc/self/autogroup";

/**
 * One process of this machine. A pid alone comes back to life as another program; with its start
 * time it is that process for ever.
 */
export interface ProcessId {
  readonly pid: number;
  readonly startedAt: string;
}

/**
 * Has this process go before the others of a busy machine, as what stands for another machine in a
 * test. Only the superuser gets it; anybody else's waits like all the others.
 */
export function raisePriority(): void {
  try {
    setPriority(RAISED_PRIORITY);
    // Linux may share the processors among sessions, of which every process that is started here
    // has one, and only then among the processes of a session.
    if (existsSync(OWN_SESSION)) writeFileSync(OWN_SESSION, String(RAISED_PRIORITY));
  } catch {
    // Not permitted.
  }
}

/** When the process began, as text to compare; null where there is none (or only its remains). */
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

/** Whether that very process still runs. */
export function isAlive(id: ProcessId): boolean {
  return startTimeOf(id.pid) === id.startedAt;
}

export interface SpawnOptions {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd?: string;
  /** Takes what the process prints; appended to. */
  readonly logFile: string;
  readonly uid?: number;
  readonly gid?: number;
}

/**
 * Starts a process in a group of its own, so that Ctrl-C in the terminal reaches only the one who
 * stops them in order. Throws where the command cannot be run.
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

/** Sends `signal` if that very process still runs; says whether it did. */
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
 * Holds the process where it is (SIGSTOP) and returns when every thread of it stands still: on a
 * busy machine that is some time after the signal, and until then it still answers. Throws where it
 * does not stop within `deadlineMs`.
 */
export async function pauseProcess(id: ProcessId, deadlineMs: number): Promise<void> {
  const end = Date.now() + deadlineMs;
  signalProcess(id, "SIGSTOP");
  while (!standsStill(id.pid)) {
    if (Date.now() > end) throw new Error(`process ${id.pid} did not stop within ${deadlineMs} ms`);
    await delay(POLL_MS);
  }
}

function standsStill(pid: number): boolean {
  if (process.platform === "linux") {
    return readdirSync(`/proc/${pid}/task`).every((thread) => stateOf(`/proc/${pid}/task/${thread}/stat`) === "T");
  }
  return spawnSync("ps", ["-o", "state=", "-p", String(pid)], { encoding: "utf8" })
    .stdout.trim()
    .startsWith("T");
}

/** The state in a `stat` file of Linux, one letter; null where the thread is gone. */
function stateOf(statFile: string): string | null {
  try {
    return statFields(readFileSync(statFile, "utf8"))[0] ?? null;
  } catch {
    return null;
  }
}

/**
 * The fields after the name, which is in brackets and may hold anything: state (3rd) … start time
 * (22nd).
 */
function statFields(stat: string): string[] {
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ");
}

/**
 * Asks the process to end with `signal`, and ends it with SIGKILL after `deadlineMs`. Returns when
 * it is gone.
 */
export async function endProcess(id: ProcessId, signal: NodeJS.Signals, deadlineMs: number): Promise<void> {
  if (!signalProcess(id, signal)) return;
  // A paused process would take notice only when it is resumed.
  signalProcess(id, "SIGCONT");
  if (await goneWithin(id, deadlineMs)) return;
  signalProcess(id, "SIGKILL");
  await goneWithin(id, deadlineMs);
}

async function goneWithin(id: ProcessId, deadlineMs: number): Promise<boolean> {
  const end = Date.now() + deadlineMs;
  while (isAlive(id)) {
    if (Date.now() > end) return false;
    await delay(POLL_MS);
  }
  return true;
}

/** The last lines of a log file, for a message about what went wrong. */
export function lastLines(file: string, count: number): string {
  try {
    return readFileSync(file, "utf8").trimEnd().split("\n").slice(-count).join("\n");
  } catch {
    return "";
  }
}
