import { createKafka } from "@kapi/kafka";
import { createLogger } from "@kapi/runtime";
import { loggedWarnings } from "@kapi/local/test-stack";
import { eventually } from "@kapi/testkit";

import { OutsideClient, pause } from "../e2e/outside-client.ts";
import type { Checker } from "../live/checker.ts";
import { RandomSource } from "../live/random-source.ts";
import type { Violations } from "../live/violations.ts";
import { TradingFloor } from "../live/trading-floor.ts";
import { Trial } from "../live/trial.ts";
import { checkCommands, checkCredits, checkMoney } from "./reconciliation.ts";
import { explainRejections } from "./rejections.ts";
import { type Cluster, startCluster, TRADING_SERVER } from "./cluster.ts";
import { Traffic } from "./traffic.ts";

/** Number of accounts to which each socket subscribes. */
const ACCOUNTS_PER_SOCKET = 2;
const SUBSCRIBED_TIMEOUT_MS = 60_000;
const SETTLE_TIMEOUT_MS = 60_000;
/** Time that an orchestrator gives a process after SIGTERM. */
const GRACE_MS = 30_000;
const RESTART = 1012;
/** Maximum number of printed lines of each process's log. */
const MAX_WARNINGS = 10;
/**
 * Longer than one pause of the account service's breaker after an outage of a few seconds. The
 * pause may begin just before the trading server is ready again. During the pause, reads that need
 * the trading server are rejected with Retry-After.
 */
const BREAKER_PAUSE_MS = 5_000;

export interface ScenarioSettings {
  readonly seed: number;
  readonly accounts: number;
  readonly sockets: number;
  /** Mutations a second. */
  readonly mutations: number;
  /** Reads a second. */
  readonly reads: number;
  readonly report: (text: string) => void;
}

/** The restart of one process. */
export interface Restart {
  readonly name: string;
  /** Time from SIGTERM until the old process ended. */
  readonly stopMs: number;
  /** Time from the end of the old process until the new process was ready. */
  readonly startMs: number;
}

export interface ScenarioReport {
  /** Number of all violations. */
  readonly violations: number;
  /** The last warnings in the log of each process; empty if there are no violations. */
  readonly complaints: readonly string[];
  readonly restarts: readonly Restart[];
  readonly traffic: Traffic["counts"];
  /**
   * Number of answers with Retry-After because a service, Redis or Kafka answered the gateway too
   * late.
   */
  readonly late: number;
  /** Sums over all sockets. */
  readonly live: {
    readonly connections: number;
    readonly closed: number;
    readonly samples: number;
    /** Replay notices whose last sample is older than the last sample that the client processed. */
    readonly behind: number;
  };
}

/**
 * Restarts the processes one after another, as a rolling update does. Meanwhile an organization's
 * backend sends requests and receives live samples. Unexpected responses, and differences between
 * the backend's counts and the API, are violations.
 */
export async function runScenario(settings: ScenarioSettings): Promise<ScenarioReport> {
  const cluster = await startCluster();
  try {
    return await runIn(cluster, settings);
  } finally {
    await cluster.stop();
  }
}

async function runIn(cluster: Cluster, settings: ScenarioSettings): Promise<ScenarioReport> {
  const { stack, demo } = cluster;
  const random = new RandomSource(settings.seed);
  const floor = await TradingFloor.open(demo, settings.accounts, random.fork());
  const logger = createLogger({ service: "rolling", level: "error" });
  const brokers = stack.servers.kafkaBrokers.split(",");
  const kafka = createKafka({ brokers, clientId: "rolling", topicPrefix: stack.topicPrefix, logger });
  const { serverId, managementKey } = demo;
  const { accounts } = floor;
  const { report } = settings;
  const trial = await Trial.start({ kafka, logger, serverId, managementKey, accounts, random: random.fork(), report });
  const { violations } = trial;
  const client = new OutsideClient(demo);
  const traffic = new Traffic({ client, accounts, random: random.fork(), violations });
  try {
    await openSockets(trial, demo.wsBase, accounts, settings.sockets);
    traffic.start(settings);
    const restarts: Restart[] = [];
    for (const name of [...cluster.first, ...cluster.second]) {
      traffic.isServerUnavailable = name === TRADING_SERVER;
      restarts.push(await restart(cluster, name, violations));
      if (traffic.isServerUnavailable) await pause(BREAKER_PAUSE_MS);
      const { mutations, lost } = traffic.counts;
      report(`${JSON.stringify(restarts.at(-1))} ${mutations} mutations, ${lost} lost connections`);
    }
    await traffic.stop();
    if (traffic.counts.notSent > 0)
      violations.add(`${traffic.counts.notSent} requests were not sent: too many were in flight`);
    const late = explainRejections(cluster, traffic.rejections, violations);
    for (const name of await cluster.withoutReadyProcess())
      violations.add(`${name}: at some moment neither process was ready`);
    await floor.close();
    const { mutations, exports } = traffic.counts;
    await checkCommands(client, accounts.length + mutations + exports, violations);
    await checkMoney(stack.servers.postgresUrl, client, accounts, traffic.moved, violations);
    await checkCredits(client, violations);
    checkSockets(trial.checkers, violations);
    await trial.settle(SETTLE_TIMEOUT_MS);
    const complaints = violations.count > 0 ? loggedWarnings(MAX_WARNINGS) : [];
    const live = liveCounts(trial.checkers);
    return { violations: violations.count, complaints, restarts, traffic: traffic.counts, late, live };
  } finally {
    await traffic.stop();
    await trial.stop();
  }
}

async function openSockets(trial: Trial, wsUrl: string, accounts: readonly string[], count: number): Promise<void> {
  for (let index = 0; index < count; index += 1) {
    const own = Array.from({ length: ACCOUNTS_PER_SOCKET }, (_, step) => accounts[(index + step) % accounts.length]);
    trial.add(`socket-${index}`, [{ wsUrl }], { accounts: own.filter((one) => one !== undefined) });
  }
  await eventually(() => trial.checkers.every(({ isSubscribed }) => isSubscribed), {
    timeoutMs: SUBSCRIBED_TIMEOUT_MS,
  });
}

/** Stops a process as an orchestrator does, starts a new process and waits until it is ready. */
async function restart({ stack }: Cluster, name: string, violations: Violations): Promise<Restart> {
  const process = stack.process(name);
  const beganMs = performance.now();
  process.kill("SIGTERM");
  const { code, signal } = await process.ended(GRACE_MS);
  const endedMs = performance.now();
  if (code !== 0) violations.add(`${name} ended with ${signal ?? code}`);
  await process.start();
  return { name, stopMs: Math.round(endedMs - beganMs), startMs: Math.round(performance.now() - endedMs) };
}

/**
 * The last connection of a client is still open. All earlier connections must have been closed with
 * 1012. Each client must have received all samples.
 */
function checkSockets(checkers: readonly Checker[], violations: Violations): void {
  for (const { name, counts } of checkers) {
    const restarts = counts.closes.get(RESTART) ?? 0;
    if (counts.connections !== restarts + 1) {
      violations.add(`${name} had ${counts.connections} connections, of which ${restarts} were closed with 1012`);
    }
    if (counts.truncated + counts.gaps > 0) violations.add(`${name} has missed samples`);
  }
}

function liveCounts(checkers: readonly Checker[]): ScenarioReport["live"] {
  const sum = (of: (counts: Checker["counts"]) => number): number =>
    checkers.reduce((total, { counts }) => total + of(counts), 0);
  return {
    connections: sum(({ connections }) => connections),
    closed: sum(({ closes }) => closes.get(RESTART) ?? 0),
    samples: sum(({ samples }) => samples),
    behind: sum(({ behind }) => behind),
  };
}
