import { spawn } from "node:child_process";
import { accessSync, constants } from "node:fs";
import path from "node:path";

import { LocalError } from "../local-error.ts";
import { type ProcessId, startTimeOf } from "./processes.ts";

/** Output beyond this length is discarded. */
const MAX_OUTPUT_CHARS = 1_000_000;
const LAST_LINES = 3;

/** The deadline, folder, environment and user of a command that runs to its end. */
export interface CommandOptions {
  /** After this time the command is killed, and the call throws LocalError. */
  readonly timeoutMs: number;
  readonly cwd?: string;
  /** All environment variables. Default: those of this process. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** The user that the command runs as. Only root may choose one. */
  readonly uid?: number;
  readonly gid?: number;
  /** Called with the process of the command. If the call throws, so does the run. */
  readonly started?: (id: ProcessId) => void;
}

/** The exit status and the output of a command that could be run, also if it failed. */
interface CommandResult {
  /** Null if a signal ended the command. */
  readonly status: number | null;
  /** Standard output and standard error, in the order of their arrival. */
  readonly output: string;
}

/**
 * Runs a command and returns its exit status and its output. Throws if the command cannot be run or
 * takes too long.
 */
export function run(command: string, args: readonly string[], options: CommandOptions): Promise<CommandResult> {
  const { timeoutMs, started, ...rest } = options;
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { ...rest, stdio: ["ignore", "pipe", "pipe"] });
    if (child.pid !== undefined) started?.({ pid: child.pid, startedAt: startTimeOf(child.pid) ?? "gone" });
    const timer = setTimeout(() => {
      child.kill("SIGKILL");
      reject(new LocalError(`${command} ${args[0] ?? ""} took longer than ${timeoutMs / 1000} s`));
    }, timeoutMs);
    let output = "";
    const collect = (chunk: Buffer): void => {
      if (output.length < MAX_OUTPUT_CHARS) output += chunk.toString("utf8");
    };
    child.stdout.on("data", collect);
    child.stderr.on("data", collect);
    child.on("error", (error) => {
      clearTimeout(timer);
      reject(error);
    });
    child.on("close", (status) => {
      clearTimeout(timer);
      resolve({ status, output });
    });
  });
}

/**
 * Like {@link run}, but throws if the command fails. The message has the first line of the output
 * with the word "error", else the last lines.
 */
export async function runOrThrow(command: string, args: readonly string[], options: CommandOptions): Promise<string> {
  const { status, output } = await run(command, args, options);
  if (status === 0) return output;
  const lines = output.trim().split("\n");
  const reason = lines.find((line) => /\berror\b/i.test(line)) ?? lines.slice(-LAST_LINES).join(" | ");
  throw new LocalError(`${path.basename(command)} failed: ${reason}`);
}

/** The full path of a command of this machine, or null. */
export function findCommand(name: string, searchPath: string = process.env["PATH"] ?? ""): string | null {
  // Debian's PATH of ordinary users does not have the sbin folders.
  for (const folder of [...searchPath.split(path.delimiter), "/usr/sbin", "/sbin"]) {
    const file = path.join(folder, name);
    if (folder !== "" && isExecutable(file)) return file;
  }
  return null;
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** Whether this process runs as root. */
export function isRoot(): boolean {
  return process.getuid?.() === 0;
}
