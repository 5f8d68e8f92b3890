/**
 * `npm run verify -- alerts-live`: a real Prometheus with the rules of deploy/observability scrapes
 * a running kapi. Without a fault no alert fires, and at least half of the dashboards' queries have
 * results. Then the finance service is paused and a deposit is accepted: the alerts for the outage
 * and for the waiting command fire. Finance resumes, the deposit succeeds, and both alerts clear.
 * The run takes about four minutes. Prometheus comes from PATH, otherwise from Debian's package.
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
const PAUSED_SERVICE = "finance";
/** The service with a separate port for metrics. */
const SEPARATE_PORT_SERVICE = "gateway";
/** The alerts that must fire while the service is paused. */
const EXPECTED_ALERTS = ["KapiServiceDown", "KapiCommandsWait"];
/** Time without a fault in which no alert may fire: longer than the shortest `for`. */
const HEALTHY_MS = 75_000;
/**
 * How long to wait until no alert is pending. A rule can be true for a moment, for example because
 * a message arrived during a fetch, so that the consumer reports a lag.
 */
const SETTLE_TIMEOUT_MS = 20_000;
const UP_TIMEOUT_MS = 60_000;
/** A command is late after one minute. The alert's `for` adds another minute. */
const FIRES_TIMEOUT_MS = 240_000;
const CLEARS_TIMEOUT_MS = 180_000;
const POLL_INTERVAL_MS = 1_000;

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
  for (const one of empty) say(`· no series yet for ${one}`);
  if (empty.length > asked / 2) throw new Error(`${empty.length} of ${asked} queries have no series`);
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
  const healthyFromMs = Date.now();
  while (Date.now() - healthyFromMs < HEALTHY_MS) {
    const falseAlarms = await firing(prometheus);
    if (falseAlarms.length > 0) throw new Error(`fires without a fault: ${falseAlarms.join("; ")}`);
    await delay(POLL_INTERVAL_MS);
  }
  // No alert is pending either: a rule that is true without a fault would fire a little later.
  await eventually(async () => (await prometheus.alerts()).length === 0, { timeoutMs: SETTLE_TIMEOUT_MS }).catch(
    async () => {
      const pending = (await prometheus.alerts()).map(nameOf);
      throw new Error(`would soon fire without a fault: ${pending.join("; ")}`);
    },
  );
  say(`✓ no alert fired in ${HEALTHY_MS / 1_000} s while ${stack.processes.size} processes were healthy`);
  await askDashboards(prometheus);

  const finance = stack.process(PAUSED_SERVICE);
  finance.kill("SIGSTOP");
  const pausedMs = Date.now();
  const since = (beganMs: number): string => `${Math.round((Date.now() - beganMs) / 1_000)} s`;
  const deposit = await client.deposit(accountNumber, { amount: 2, requestId: "paused" });
  if (deposit.status !== 202)
    throw new Error(`a deposit is answered ${deposit.status} while ${PAUSED_SERVICE} is paused`);
  const raised = new Set<string>();
  await eventually(
    async () => {
      for (const name of await firing(prometheus)) {
        if (!raised.has(name)) say(`· ${since(pausedMs)} after ${PAUSED_SERVICE} was paused: ${name} fires`);
        raised.add(name);
      }
      return EXPECTED_ALERTS.every((alert) => [...raised].some((name) => name.startsWith(alert)));
    },
    { timeoutMs: FIRES_TIMEOUT_MS, intervalMs: POLL_INTERVAL_MS },
  );
  say(`✓ ${EXPECTED_ALERTS.join(" and ")} fired`);

  finance.kill("SIGCONT");
  const resumedMs = Date.now();
  await client.succeeded(deposit.body.command.id);
  say(`✓ the deposit that was accepted during the pause succeeded ${since(resumedMs)} after ${PAUSED_SERVICE} resumed`);
  await eventually(async () => (await firing(prometheus)).length === 0, {
    timeoutMs: CLEARS_TIMEOUT_MS,
    intervalMs: POLL_INTERVAL_MS,
  }).catch(async () => {
    throw new Error(`still fires: ${(await firing(prometheus)).join("; ")}`);
  });
  say(`✓ no alert was firing any more ${since(resumedMs)} after ${PAUSED_SERVICE} resumed`);
}

const program = await prometheusProgram("prometheus");
if (program === null) {
  console.log(
    "Nothing was tested: prometheus is not on PATH, and cannot be installed from Debian (package prometheus).",
  );
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
      [SEPARATE_PORT_SERVICE]: { METRICS_PORT: String(metricsPort) },
    },
  });
  try {
    const { status } = await fetch(`${stack.url(SEPARATE_PORT_SERVICE)}/metrics`);
    if (status !== 404)
      throw new Error(
        `the HTTP port of ${SEPARATE_PORT_SERVICE} answers ${status} to /metrics instead of 404: its metrics are on another port`,
      );
    const urlOf = (name: string): string =>
      name === SEPARATE_PORT_SERVICE ? `http://127.0.0.1:${metricsPort}` : stack.url(name);
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
