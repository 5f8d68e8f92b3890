/**
 * `npm start`: runs Kafka, PostgreSQL, Redis, the services and a demo organization until Ctrl-C or
 * SIGTERM. All state is below KAPI_STATE_DIR, or in Docker volumes that belong to that folder. With
 * KAPI_CLUSTERS=on Kafka, PostgreSQL and Redis are clusters. With KAPI_PROCESSES=each every service
 * has its own process; by default one process runs all services. KAPI_PORT, KAPI_LIVE_PORT,
 * KAPI_CONSOLE_PORT and KAPI_TRADING_SERVER_PORT set the ports.
 */
import path from "node:path";

import { z } from "zod";

import { keptDemo } from "./demo/demo.ts";
import { readyPage } from "./demo/page.ts";
import { LocalError, printedReport } from "@kapi/servers";
import { startStack } from "./stack.ts";

const ROOT = path.resolve(import.meta.dirname, "../../..");
const DEFAULT_PORTS = { gateway: 8080, live: 8081, "console-page": 8082, "trading-simulator": 8090 };
/** Signals within this time count as one: npm may send the same Ctrl-C twice. */
const SAME_REQUEST_MS = 1_000;

const Port = z.coerce.number().pipe(z.int().min(1).max(65_535)).optional();
const Settings = z.object({
  KAPI_STATE_DIR: z.string().default(".local"),
  KAPI_CLUSTERS: z.enum(["on", "off"]).default("off"),
  KAPI_PROCESSES: z.enum(["one", "each"]).default("one"),
  KAPI_PORT: Port,
  KAPI_LIVE_PORT: Port,
  KAPI_CONSOLE_PORT: Port,
  KAPI_TRADING_SERVER_PORT: Port,
});

async function main(): Promise<void> {
  const parsed = Settings.safeParse(process.env);
  if (!parsed.success) throw new LocalError(z.prettifyError(parsed.error));
  const settings = parsed.data;
  const stateDir = path.resolve(ROOT, settings.KAPI_STATE_DIR);
  const report = printedReport();
  const beganMs = Date.now();
  const stopping = stopRequests();
  console.log("kapi starts\n");
  const stack = await startStack({
    stateDir,
    signal: stopping.signal,
    report,
    supervised: true,
    clusters: settings.KAPI_CLUSTERS === "on",
    together: settings.KAPI_PROCESSES === "one",
    preferredPorts: DEFAULT_PORTS,
    ports: {
      gateway: settings.KAPI_PORT,
      live: settings.KAPI_LIVE_PORT,
      "console-page": settings.KAPI_CONSOLE_PORT,
      "trading-simulator": settings.KAPI_TRADING_SERVER_PORT,
    },
  });
  try {
    const demoBeganMs = Date.now();
    const demo = await keptDemo(stack, stateDir);
    report.done("demo organization", demoBeganMs);
    report.done("everything", beganMs);
    if (!stopping.signal.aborted) console.log(readyPage(stack, demo, stateDir));
    await stopping.first;
  } finally {
    console.log("\nkapi stops");
    const stopBeganMs = Date.now();
    await stack.stop();
    report.done("stopped", stopBeganMs);
  }
}

/**
 * Handles requests to stop this process. The first request aborts `signal` and resolves `first`. A
 * later request ends the process at once; the next start cleans up.
 */
function stopRequests(): { readonly signal: AbortSignal; readonly first: Promise<void> } {
  const controller = new AbortController();
  let requestedMs: number | null = null;
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    process.on(signal, () => {
      if (requestedMs !== null && Date.now() - requestedMs > SAME_REQUEST_MS) process.exit(1);
      requestedMs ??= Date.now();
      controller.abort();
    });
  }
  const first = new Promise<void>((resolve) => {
    controller.signal.addEventListener("abort", () => resolve(), { once: true });
  });
  return { signal: controller.signal, first };
}

try {
  await main();
} catch (error) {
  console.error(error instanceof LocalError ? `\n${error.message}` : error);
  // An aborted start may still have running work, which would keep this process alive.
  process.exit(1);
}
