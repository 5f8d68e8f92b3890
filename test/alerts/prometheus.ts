import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";

import { endProcess, freePort, spawnProcess } from "@kapi/servers";
import { eventually } from "@kapi/testkit";

const READY_TIMEOUT_MS = 60_000;
const REQUEST_TIMEOUT_MS = 10_000;
const STOP_DEADLINE_MS = 10_000;
/** Interval of scrapes and rule evaluations. It is short, so that tests see changes soon. */
const INTERVAL = "2s";

/** A pending or firing alert of Prometheus. */
export interface ActiveAlert {
  readonly state: "pending" | "firing";
  readonly labels: Readonly<Record<string, string>>;
}

/** A Prometheus for one test. */
export interface Prometheus {
  alerts(): Promise<readonly ActiveAlert[]>;
  /** Current number of series of the expression; throws if Prometheus rejects it. */
  query(expression: string): Promise<number>;
  stop(): Promise<void>;
}

/**
 * Starts `program` in `folder` with the file `rules`. `targets` has the base address of each job.
 */
export async function startPrometheus(options: {
  readonly program: string;
  readonly folder: string;
  readonly rules: string;
  readonly targets: ReadonlyMap<string, string>;
}): Promise<Prometheus> {
  const { program, folder, rules, targets } = options;
  mkdirSync(folder, { recursive: true });
  const configuration = {
    global: { scrape_interval: INTERVAL, scrape_timeout: INTERVAL, evaluation_interval: INTERVAL },
    rule_files: [rules],
    scrape_configs: Array.from(targets, ([job, url]) => ({
      job_name: job,
      static_configs: [{ targets: [new URL(url).host], labels: { application: "kapi" } }],
    })),
  };
  const file = path.join(folder, "prometheus.yaml");
  writeFileSync(file, JSON.stringify(configuration));
  const address = `127.0.0.1:${await freePort()}`;
  const { id } = await spawnProcess({
    command: program,
    args: [
      `--config.file=${file}`,
      `--storage.tsdb.path=${path.join(folder, "data")}`,
      `--web.listen-address=${address}`,
    ],
    env: process.env,
    cwd: folder,
    logFile: path.join(folder, "prometheus.log"),
  });
  const stop = (): Promise<void> => endProcess(id, "SIGTERM", STOP_DEADLINE_MS);
  const ask = async <T>(question: string): Promise<T> => {
    const answer = await fetch(`http://${address}${question}`, { signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS) });
    if (!answer.ok) throw new Error(`Prometheus answers ${answer.status}: ${await answer.text()}`);
    return ((await answer.json()) as { data: T }).data;
  };
  const query = async (expression: string): Promise<number> => {
    const data = await ask<{ result: readonly unknown[] }>(`/api/v1/query?query=${encodeURIComponent(expression)}`);
    return data.result.length;
  };
  try {
    await eventually(() => query("vector(1)"), { timeoutMs: READY_TIMEOUT_MS });
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    alerts: async () => (await ask<{ alerts: readonly ActiveAlert[] }>("/api/v1/alerts")).alerts,
    query,
    stop,
  };
}
