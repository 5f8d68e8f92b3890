import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

import { assert, delay } from "@kapi/kernel";
import { eventually } from "@kapi/testkit";

const READY_TIMEOUT_MS = 60_000;
const STOP_TIMEOUT_MS = 12_000;

/** A service in a child process. */
export interface ChildService {
  readonly url: string;
  readonly process: ChildProcess;
  /** Resolves with the signal that ended the process, or null. */
  readonly ended: Promise<NodeJS.Signals | null>;
  stop(): Promise<void>;
}

/**
 * Starts `services/<name>` on `port` and waits until it is ready. Its log goes to standard output
 * of this process.
 */
export async function startChildService(
  name: string,
  env: Readonly<Record<string, string>>,
  port: number,
): Promise<ChildService> {
  const main = fileURLToPath(new URL(`../../${name}/src/main.ts`, import.meta.url));
  const child = spawn(process.execPath, [main], {
    env: { ...env, HTTP_PORT: String(port) },
    stdio: ["ignore", "inherit", "inherit"],
  });
  const ended = once(child, "exit").then(([, signal]) => signal as NodeJS.Signals | null);
  const url = `http://127.0.0.1:${port}`;
  const stop = async (): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill("SIGTERM");
    await Promise.race([ended, delay(STOP_TIMEOUT_MS).then(() => child.kill("SIGKILL"))]);
  };
  try {
    await eventually(async () => child.exitCode !== null || (await fetch(`${url}/readyz`)).ok, {
      timeoutMs: READY_TIMEOUT_MS,
      intervalMs: 50,
    });
    assert(child.exitCode === null, `${name} ended while it started`);
  } catch (error) {
    await stop();
    throw error;
  }
  return { url, process: child, ended, stop };
}
