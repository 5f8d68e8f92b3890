/**
 * `npm run verify -- alerts-live`: a real Prometheus with the rules of deploy/observability scrapes
 * a running kapi. Without a fault no alert fires, and the dashboards' queries have results. Then
 * the finance service is paused and a deposit is accepted: the alerts for the outage and for the
 * waiting command fire. Finance resumes, the deposit succeeds, and both alerts clear. The run takes
 * about four minutes. Prometheus comes from PATH, otherwise from Debian.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

import { delay } from "@kapi/kernel";
import { freePort } from "@kapi/servers";
import { startTestStack, type TestStack } from "@kapi/local/test-stack";
import { eventually } from "@kapi/testkit";

import startServers from "../../libs/testkit/src/global-setup.ts";
import { OutsideClient } from "../e2e/outside-client.ts";
import { expressionsOf, fillIn, readDashboards } from "./dashboards.ts";
import { prometheusProgram } from "./programs.ts";
import { type ActiveAlert, type Prometheus, startPrometheus } from "./prometheus.ts";

const OBSERVABILITY = path.resolve(import.meta.dirname, "../../deploy/observability");
const HELD = "finance";
/** The service with a separate port for metrics. */
const APART = "gateway";
/** The alerts that must fire while the service is paused. */
const RAISED = ["KapiServiceDown", "KapiCommandsWait"];
/** Observation time without a fault: longer than the shortest `for`. */
const WELL_MS = 75_000;
/** A rule may be true for a moment, for example if an end offset moved during a read. */
const SETTLE_TIMEOUT_MS = 20_000;
const UP_TIMEOUT_MS = 60_000;
/** A command is late after one minute. The alert's `for` adds another minute. */
const FIRES_TIMEOUT_MS = 240_000;
const CLEARS_TIMEOUT_MS = 180_000;
const LOOK_INTERVAL_MS = 1_000;

function say(text: string): void {
  console.log(`  ${text}`);
}

function nameOf({ labels }: ActiveAlert): string {
  const { alertname = "", severity: _severity, application: _application, ...others } = labels;
  const pairs = Object.entries(others).map(([key, value]) => `${key}=${value}`);
  return pairs.length === 0 ? alertname : `${alertname} (${pairs.join(", ")})`;
}

async function firing(prometheus: Prometheus): Promise<string[]> {
  return (await prometheus.alerts()).filter(({ state }) => state === "firing").map(nameOf);
}

/**
 * Runs the queries of the dashboards. Throws if Prometheus rejects one, or if most have no result.
 */
async function askDashboards(prometheus: Prometheus): Promise<void> {
  const empty: string[] = [];
  let asked = 0;
  for (const [file, dashboard] of readDashboards(path.join(OBSERVABILITY, "dashboards"))) {
    for (const expression of expressionsOf(dashboard)) {
      asked += 1;
      if ((await prometheus.query(fillIn(expression))) === 0) empty.push(`${file}: ${expression}`);
    }
  }
  for (const one of empty) say(`· nothing yet for ${one}`);
  if (empty.length > asked / 2) throw new Error(`${empty.length} of ${asked} queries have no answer`);
  say(`✓ ${asked} queries of the dashboards were answered, ${asked - empty.length} of them with series`);
}

async function watch(stack: TestStack, prometheus: Prometheus): Promise<void> {
  const client = new OutsideClient(await stack.createDemo({ autoTraders: 2 }));
  const accountNumber = await client.openAccount(1_000);
  await eventually(async () => (await prometheus.query('up{application="kapi"} == 1')) === stack.processes.size, {
    timeoutMs: UP_TIMEOUT_MS,
  });
  const first = await client.deposit(accountNumber, { amount: 1, requestId: "well" });
  await client.succeeded(first.body.command.id);
  const wellMs = Date.now();
  while (Date.now() - wellMs < WELL_MS) {
    const falseAlarms = await firing(prometheus);
    if (falseAlarms.length > 0) throw new Error(`fires while all is well: ${falseAlarms.join("; ")}`);
    await delay(LOOK_INTERVAL_MS);
  }
  // No alert is pending either: a rule that is true without a fault would fire a little later.
  await eventually(async () => (await prometheus.alerts()).length === 0, { timeoutMs: SETTLE_TIMEOUT_MS }).catch(
    async () => {
      const pending = (await prometheus.alerts()).map(nameOf);
      throw new Error(`is about to fire while all is well: ${pending.join("; ")}`);
    },
  );
  say(`✓ no alert fired in ${WELL_MS / 1_000} s while ${stack.processes.size} processes were well`);
  await askDashboards(prometheus);

  const finance = stack.process(HELD);
  finance.kill("SIGSTOP");
  const heldMs = Date.now();
  const since = (beganMs: number): string => `${Math.round((Date.now() - beganMs) / 1_000)} s`;
  const deposit = await client.deposit(accountNumber, { amount: 2, requestId: "held" });
  if (deposit.status !== 202) throw new Error(`a deposit is answered ${deposit.status} while ${HELD} is held`);
  const raised = new Set<string>();
  await eventually(
    async () => {
      for (const name of await firing(prometheus)) {
        if (!raised.has(name)) say(`· ${since(heldMs)} after ${HELD} was held: ${name} fires`);
        raised.add(name);
      }
      return RAISED.every((alert) => [...raised].some((name) => name.startsWith(alert)));
    },
    { timeoutMs: FIRES_TIMEOUT_MS, intervalMs: LOOK_INTERVAL_MS },
  );
  say(`✓ ${RAISED.join(" and ")} fired`);

  finance.kill("SIGCONT");
  const wentOnMs = Date.now();
  await client.succeeded(deposit.body.command.id);
  say(`✓ the deposit that was accepted meanwhile succeeded ${since(wentOnMs)} after ${HELD} went on`);
  await eventually(async () => (await firing(prometheus)).length === 0, {
    timeoutMs: CLEARS_TIMEOUT_MS,
    intervalMs: LOOK_INTERVAL_MS,
  }).catch(async () => {
    throw new Error(`still fires: ${(await firing(prometheus)).join("; ")}`);
  });
  say(`✓ no alert was firing any more ${since(wentOnMs)} after ${HELD} went on`);
}

const program = await prometheusProgram("prometheus");
if (program === null) {
  console.log("Nothing was tested: prometheus is neither on PATH nor to be had from Debian (package prometheus).");
  process.exit(1);
}
const folder = mkdtempSync(path.join(tmpdir(), "kapi-alerts-"));
const stopServers = await startServers();
try {
  const metricsPort = await freePort();
  const stack = await startTestStack({
    env: {
      all: { METRICS: "on", KAFKA_SESSION_TIMEOUT_MS: "6000" },
      // As in an installation whose HTTP port is reachable from outside.
      [APART]: { METRICS_PORT: String(metricsPort) },
    },
  });
  try {
    const { status } = await fetch(`${stack.url(APART)}/metrics`);
    if (status !== 404)
      throw new Error(`the HTTP port of ${APART} answers ${status} to /metrics, which is served apart`);
    const urlOf = (name: string): string => (name === APART ? `http://127.0.0.1:${metricsPort}` : stack.url(name));
    const targets = new Map(Array.from(stack.processes.keys(), (name) => [name, urlOf(name)] as const));
    const rules = path.join(OBSERVABILITY, "alerts/kapi.yaml");
    const prometheus = await startPrometheus({ program, folder, rules, targets });
    try {
      await watch(stack, prometheus);
    } finally {
      await prometheus.stop();
    }
  } finally {
    await stack.stop();
  }
} finally {
  await stopServers();
  rmSync(folder, { recursive: true });
}
