import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const MAIN = fileURLToPath(new URL("../../trading-simulator/src/main.ts", import.meta.url));
const START_DEADLINE_MS = 30_000;

/**
 * The trading simulator as a process on a free port. Prices only change when a test changes them.
 */
export interface TradingServerProcess {
  readonly url: string;
  /** Calls the control API; resolves with the response body. */
  control(method: "POST" | "PUT" | "DELETE", path: string, body?: unknown): Promise<unknown>;
  stop(): Promise<void>;
}

/** Starts the trading simulator with `env` and waits until it listens. */
export async function startTradingServer(env: Readonly<Record<string, string>>): Promise<TradingServerProcess> {
  const child = spawn(process.execPath, [MAIN], {
    env: { ...process.env, ...env, HTTP_PORT: "0", LOG_LEVEL: "info", TICK_INTERVAL_MS: "0" },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  const stop = (): Promise<void> => {
    child.kill("SIGTERM");
    return ended;
  };
  const url = await new Promise<string>((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error("the trading server did not start")), START_DEADLINE_MS);
    child.once("exit", (code) => reject(new Error(`the trading server ended with ${code}`)));
    createInterface({ input: child.stdout }).on("line", (line) => {
      const entry: unknown = JSON.parse(line);
      if (typeof entry !== "object" || entry === null || !("url" in entry) || typeof entry.url !== "string") return;
      clearTimeout(timer);
      resolve(entry.url);
    });
  });
  const control: TradingServerProcess["control"] = async (method, path, body) => {
    const init =
      body === undefined ? {} : { body: JSON.stringify(body), headers: { "content-type": "application/json" } };
    const response = await fetch(`${url}/control/v1${path}`, { method, ...init });
    const answer: unknown = await response.json();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${JSON.stringify(answer)}`);
    return answer;
  };
  return { url, control, stop };
}
