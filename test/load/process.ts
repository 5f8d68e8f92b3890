import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import path from "node:path";

import { assertDefined } from "@kapi/kernel";

/** A child process that has printed its first line, as JSON. */
export interface ChildProcess<T> {
  readonly hello: T;
  readonly pid: number;
  stop(): Promise<void>;
}

/**
 * Starts a script of this folder with the Node of this process, and waits for the script's first
 * line. The script is killed when this process exits.
 */
export async function startProcess<T>(
  script: string,
  args: readonly string[],
  environment: Record<string, string>,
): Promise<ChildProcess<T>> {
  const child = spawn(process.execPath, [path.join(import.meta.dirname, script), ...args], {
    env: { ...process.env, ...environment },
    stdio: ["ignore", "pipe", "inherit"],
  });
  // A failed benchmark must leave no process behind.
  const kill = (): boolean => child.kill("SIGKILL");
  process.once("exit", kill);
  const ended = new Promise<void>((resolve) => child.once("exit", () => resolve())).finally(() =>
    process.off("exit", kill),
  );
  const first = await new Promise<string>((resolve, reject) => {
    createInterface({ input: child.stdout }).once("line", resolve);
    child.once("exit", (code) => reject(new Error(`${script} ended with ${code} before it was ready`)));
  });
  return {
    hello: JSON.parse(first) as T,
    pid: assertDefined(child.pid, "the process id of a running child"),
    stop: () => {
      child.kill("SIGTERM");
      return ended;
    },
  };
}
