/**
 * `npm run scenario -- clusters`: runs kapi on clusters whose nodes fail, and an external oracle
 * with its own operation log. A seeded script injects faults into nodes of every server and into
 * every process of kapi, under load. Then the run compares the operation log with the API and the
 * trading server. Each difference is a violation. A run with violations exits with 1.
 */
import { cpSync, existsSync, readdirSync, rmSync } from "node:fs";
import path from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";

import { delay } from "@kapi/kernel";
import { raisePriority, StateRecord } from "@kapi/servers";
import { loggedWarnings, startTestStack } from "@kapi/local/test-stack";
import { startTestClusters, STATE_VARIABLE } from "@kapi/testkit";

import { removeRun, sweepDeadRuns, TEST_STATE_ROOT } from "../../libs/testkit/src/state-folder.ts";
import { RandomSource } from "../live/random-source.ts";
import { Violations } from "../live/violations.ts";
import { OperationLog } from "./operation-log.ts";
import { checkAll } from "./checks.ts";
import { allFaults, type Fault, revertAll, type Scene } from "./faults.ts";
import { LivenessProbes, unready } from "./probes.ts";
import { Recovery } from "./recovery.ts";
import { reportLines } from "./report.ts";
import { settingsOf } from "./settings.ts";
import { Waits } from "./waits.ts";
import { Workload } from "./workload.ts";
import { openClusterHarness, type ClusterHarness } from "./cluster-harness.ts";
import { injectError } from "./wrong.ts";

const WARM_UP_MS = 10_000;
/** The longest fault stops all brokers for three minutes and then starts them together. */
const FAULT_DEADLINE_MS = 420_000;
const RECOVERY_DEADLINE_MS = 120_000;
const HEAL_DEADLINE_MS = 300_000;
/** Time limit for unanswered operations after the load has ended. */
const LAST_TRIES_MS = 120_000;
/** Time limit for start, last recovery, checks and stop, in addition to the run's minutes. */
const EXTRA_TIME_MS = 25 * 60_000;
const STOP_DEADLINE_MS = 90_000;
const MAX_WARNINGS = 5;
const CHECK_EVERY_MS = 5_000;
const BLOCKED_MS = 500;
/**
 * Folder for the logs of runs with violations. A later run with the same seed replaces them if it
 * has violations too.
 */
const KEPT_LOGS_ROOT = path.resolve(import.meta.dirname, "../../.local/clusters");

const settings = settingsOf(process.env);
const began = Date.now();

function say(text: string): void {
  const at = ((Date.now() - began) / 1_000).toFixed(0).padStart(5);
  process.stdout.write(`${at} s  ${text}\n`);
}

const waits = new Waits(say);
const violations = new Violations((text) => say(`VIOLATION  ${text}`));
const operationLog = new OperationLog();
/** Number of checked endings of each process. */
const endings = new Map<{ readonly name: string }, number>();
/** Called in reverse order when the run ends. */
const stops: (() => Promise<void>)[] = [];

/** Prints how long the oracle was blocked, because this looks like a delay of kapi. */
const blockedTimes = monitorEventLoopDelay({ resolution: 100 });
blockedTimes.enable();
setInterval(() => {
  const longestMs = blockedTimes.max / 1e6;
  blockedTimes.reset();
  if (longestMs > BLOCKED_MS) say(`  the oracle was blocked for ${(longestMs / 1_000).toFixed(1)} s`);
}, CHECK_EVERY_MS).unref();

/**
 * Ends a run that hangs, and prints its open waits. The next run ends the remaining processes of
 * this run.
 */
setTimeout(
  () => {
    say(`the run ends at its time limit; it still waits for: ${waits.current.join("; ")}`);
    process.exit(1);
  },
  settings.minutes * 60_000 + EXTRA_TIME_MS,
).unref();

async function injectFaults(scene: Scene, recovery: Recovery): Promise<void> {
  const endMs = Date.now() + settings.minutes * 60_000;
  const chosen = allFaults(scene.stack).filter(
    ({ name }) => settings.faults.length === 0 || settings.faults.some((text) => name.includes(text)),
  );
  if (chosen.length === 0) throw new Error(`no fault's name contains ${settings.faults.join(" or ")}`);
  let turn: Fault[] = [];
  const unseen = new Set(chosen.map(({ name }) => name));
  while (Date.now() < endMs) {
    // Every fault runs once, in an order from the seed, before one runs again.
    if (turn.length === 0) turn = shuffled(chosen, scene.random);
    const fault = turn.pop();
    if (fault === undefined) continue;
    await injectFault(fault, scene, recovery);
    unseen.delete(fault.name);
  }
  say(unseen.size === 0 ? "every kind of fault ran" : `${unseen.size} kinds did not run: ${[...unseen].join(", ")}`);
}

/**
 * Reports every process that ended without SIGKILL. Faults kill with SIGKILL, so such a process
 * ended because of its own failure.
 */
function findEndings({ stack }: Scene, meanwhile: string): void {
  for (const one of stack.processes.values()) {
    const known = endings.get(one) ?? 0;
    endings.set(one, one.endings.length);
    for (const { code, signal } of one.endings.slice(known).filter((ending) => ending.signal !== "SIGKILL")) {
      violations.add(`${one.name} ended without a fault (${signal ?? `exit code ${code}`}) ${meanwhile}`);
    }
  }
}

async function injectFault(fault: Fault, scene: Scene, recovery: Recovery): Promise<void> {
  say(fault.name);
  recovery.begin(fault.name);
  try {
    await waits.within(`the fault "${fault.name}"`, FAULT_DEADLINE_MS, fault.run(scene));
  } catch (error) {
    violations.add(`the fault "${fault.name}" could not be carried out: ${String(error)}`);
    await waits.within("every node to be back", HEAL_DEADLINE_MS, revertAll(scene));
  }
  recovery.healed();
  const missing = await waits.until(`kapi after "${fault.name}"`, RECOVERY_DEADLINE_MS, () => recovery.missing());
  recovery.end();
  const notReady = await waits.until("every process to be ready", RECOVERY_DEADLINE_MS, () => unready(scene.stack));
  if (notReady !== null) violations.add(`after "${fault.name}" ${notReady}`);
  if (missing !== null) {
    violations.add(`after "${fault.name}" kapi did not recover within ${RECOVERY_DEADLINE_MS / 1_000} s: ${missing}`);
  }
  findEndings(scene, `during "${fault.name}" or the recovery from it`);
  await delay(scene.random.whole(1, 5) * 1_000);
}

function shuffled<T>(items: readonly T[], random: RandomSource): T[] {
  const left = [...items];
  for (let at = left.length - 1; at > 0; at -= 1) {
    const other = random.whole(0, at);
    [left[at], left[other]] = [left[other] as T, left[at] as T];
  }
  return left;
}

async function runWithFaults(
  harness: ClusterHarness,
  scene: Scene,
  recovery: Recovery,
  random: RandomSource,
): Promise<void> {
  const { organizations, accounts, moveMarket } = harness;
  const workload = new Workload({ organizations, accounts, operationLog, recovery, violations, random, moveMarket });
  workload.start(settings.rate);
  recovery.begin("none (warm-up)");
  await delay(WARM_UP_MS);
  recovery.healed();
  const missing = await waits.until("every account to be served", RECOVERY_DEADLINE_MS, () => recovery.missing());
  recovery.end();
  if (missing !== null) throw new Error(`kapi does not work without a fault: ${missing}`);
  await injectError(settings.wrong, operationLog, harness, scene.stack);
  await injectFaults(scene, recovery);
  say("every fault is over");
  await waits.within("every node to be back", HEAL_DEADLINE_MS, revertAll(scene));
  const giveUpMs = LAST_TRIES_MS + 60_000;
  await waits.within("the last answers", giveUpMs, workload.stop(LAST_TRIES_MS));
  await waits.within("trading to end", HEAL_DEADLINE_MS, harness.endTrading());
  await checkAll({ harness, operationLog, violations, waits, say, stack: scene.stack });
  findEndings(scene, "after the last fault");
  const complaints = violations.count > 0 ? loggedWarnings(MAX_WARNINGS) : [];
  for (const line of [...complaints, ...reportLines(operationLog, recovery.records, violations)]) {
    process.stdout.write(`${line}\n`);
  }
}

/** Copies all logs out of the run's folder before the folder is removed. */
function keepLogs(from: string): void {
  const kept = path.join(KEPT_LOGS_ROOT, String(settings.seed));
  rmSync(kept, { recursive: true, force: true });
  for (const part of readdirSync(from)) {
    const logs = path.join(from, part, "logs");
    if (existsSync(logs)) cpSync(logs, kept, { recursive: true });
  }
  if (existsSync(kept)) say(`the logs of every server and process are in ${kept}`);
}

async function cleanUp(): Promise<void> {
  for (const stop of stops.splice(0).toReversed()) {
    await waits
      .within("the clean-up of the run", STOP_DEADLINE_MS, stop())
      .catch((error: unknown) => say(String(error)));
  }
}

for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
  process.once(signal, () => void cleanUp().finally(() => process.exit(1)));
}
say(JSON.stringify(settings));
await sweepDeadRuns();
const stateDir = path.join(TEST_STATE_ROOT, String(process.pid));
process.env[STATE_VARIABLE] = stateDir;
// The record shows to other test runs that this run is alive.
const record = await StateRecord.open(stateDir);
stops.push(
  () => removeRun(stateDir),
  () => record.close(),
);
// The oracle simulates clients on other machines, so load on this machine must not delay it.
raisePriority();
try {
  const clusters = await startTestClusters();
  stops.push(() => clusters.stop());
  say("the clusters run");
  const env = { all: { QUOTES_FILE: "" } };
  const stack = await startTestStack({ clusters, twice: settings.twice, supervised: true, env });
  stops.push(() => stack.stop());
  say(`kapi runs: ${[...stack.processes.keys()].join(", ")}`);
  const random = new RandomSource(settings.seed);
  const recovery = new Recovery();
  const harness = await openClusterHarness(stack, settings, random.fork(), violations, recovery);
  recovery.expect(harness.accounts);
  const probes = new LivenessProbes(stack, violations);
  stops.push(() => Promise.resolve(probes.stop()));
  stops.push(() => harness.stop());
  say(`${harness.organizations.length} organizations, ${harness.accounts.length} accounts`);
  await runWithFaults(harness, { clusters, stack, random: random.fork() }, recovery, random.fork());
} catch (error) {
  const reason = `the run failed: ${error instanceof Error ? error.stack : String(error)}`;
  violations.add(reason);
  // After many violations, `violations` prints no further ones.
  say(reason);
}
if (violations.count > 0) keepLogs(stateDir);
await cleanUp();
say(`${violations.count} violations (CLUSTERS_SEED=${settings.seed})`);
process.exit(violations.count === 0 ? 0 : 1);
