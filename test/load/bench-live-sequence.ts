/**
 * Parts `sequence` and `fanout` of `bench -- live`: rates of valuations through a bare loop and
 * through metrics processes. The report names the measurements by letters:
 *
 * - (a) bare loop, and (b) kapi: 1,000 accounts, one account per socket.
 * - (c) kapi: 1,000 accounts on 1, 100 and 1,000 sockets.
 * - (d) bare loop and kapi: one account on 100 sockets.
 */
import type { Aim } from "./bench-live-aims.ts";
import type { BareMethods, BareMode } from "./bench-live-bare.ts";
import {
  AIM_P99_MS,
  bound,
  figuresOf,
  highestRate,
  maximum,
  perMillion,
  type Setup,
  type Trial,
} from "./bench-live-trial.ts";
import { type Clients, FIRST_ACCOUNT, LiveHarness, until } from "./bench-live-harness.ts";
import { startWorker } from "./bench-live-workers.ts";

/** Number of accounts of (a), (b) and (c). */
const ACCOUNTS = 1_000;
const AIM_RATIO = 0.6;
const AIM_SEQUENCED = 30_000;
/** Number of sockets of (d). */
const SOCKETS_OF_ONE_ACCOUNT = 100;
const AIM_DELIVERIES = 300_000;
/** Valuations per second at the start of a search. */
const FIRST_RATE = 6_000;
/** Valuations per second at the start of a search with one account. */
const FIRST_RATE_OF_ONE_ACCOUNT = 400;
const PRIME_PER_SECOND = 2_000;
/** Turns coalescing off, to measure single samples. */
const UNCOALESCED = { COALESCE_MS: "0", LOG_LEVEL: "warn" };

interface Route {
  readonly accounts: number;
  readonly sockets: number;
  /** True: every socket gets every account. False: the accounts are divided among the sockets. */
  readonly shared: boolean;
}

/** The result of a search. */
interface Found {
  /** The highest sustained rate. */
  readonly best: Trial;
  /** The rate under overload. */
  readonly overloaded: Trial;
}

/**
 * Measures (a) and (b). The ratios compare kapi with the bare loop that writes each frame
 * separately. The bare loop with merged writes collects the frames of a batch for each socket and
 * writes them together, as kapi does.
 */
export async function sequence(): Promise<Aim[]> {
  const route: Route = { accounts: ACCOUNTS, sockets: ACCOUNTS, shared: false };
  const bare = await throughBareLoop("each", route, FIRST_RATE, "(a) bare loop, one account per socket");
  const kapi = await throughMetrics(route, FIRST_RATE, "(b) kapi, one account per socket", ["sequencer,stream"]);
  const split = await throughMetrics(route, FIRST_RATE, "(b) kapi, a process for each role", ["sequencer", "stream"]);
  const whole = await throughWholeStack(route, FIRST_RATE, "(b) kapi, the whole stack");
  const merged = await throughBareLoop("merged", route, FIRST_RATE, "(a) bare loop, merged writes");
  const aims: Aim[] = [figure("(a) bare loop", bare), figure("(a) bare loop, merged writes", merged)];
  for (const [name, found] of [
    ["(b) kapi, one process", kapi] as const,
    ["(b) kapi, a process for each role", split] as const,
    ["(b) kapi, the whole stack in one process", whole] as const,
  ]) {
    const ratio = found.best.perSecond / bare.best.perSecond;
    aims.push({
      ...figure(name, found),
      aim: `>= ${AIM_SEQUENCED}/s if the machine allows it`,
      isMet: found.best.perSecond >= AIM_SEQUENCED,
    });
    aims.push({ what: `${name} / (a)`, figure: ratio.toFixed(2), aim: `>= ${AIM_RATIO}`, isMet: ratio >= AIM_RATIO });
  }
  return aims;
}

/** Measures (c) and (d). */
export async function fanOut(): Promise<Aim[]> {
  const aims: Aim[] = [];
  for (const sockets of [1, 100, ACCOUNTS]) {
    const label = `(c) ${ACCOUNTS} accounts on ${sockets} sockets`;
    const found = await throughMetrics({ accounts: ACCOUNTS, sockets, shared: false }, FIRST_RATE, label, [
      "sequencer,stream",
    ]);
    aims.push(figure(label, found), cost(label, found.best));
  }
  const route: Route = { accounts: 1, sockets: SOCKETS_OF_ONE_ACCOUNT, shared: true };
  const bareLabel = `(d) bare loop, one account to ${SOCKETS_OF_ONE_ACCOUNT} sockets`;
  const bare = await throughBareLoop("all", route, FIRST_RATE_OF_ONE_ACCOUNT, bareLabel);
  const label = `(d) kapi, one account to ${SOCKETS_OF_ONE_ACCOUNT} sockets`;
  const kapi = await throughMetrics(route, FIRST_RATE_OF_ONE_ACCOUNT, label, ["sequencer,stream"]);
  aims.push(figure(bareLabel, bare), cost(bareLabel, bare.best), {
    ...figure(label, kapi),
    aim: `>= ${AIM_DELIVERIES}/s`,
    isMet: kapi.best.perSecond >= AIM_DELIVERIES,
  });
  aims.push(cost(label, kapi.best));
  return aims;
}

async function throughBareLoop(mode: BareMode, route: Route, startAt: number, label: string): Promise<Found> {
  const harness = await LiveHarness.start();
  try {
    const bare = startWorker<BareMethods>("bench-live-bare.ts");
    await harness.scope.start("bare loop", () => ({ value: null, stop: () => bare.stop() }));
    const { kafkaBrokers: brokers, topicPrefix } = harness.environment;
    const port = await bare.call("start", { brokers, topicPrefix, mode });
    const clients = await harness.clients();
    await openRoute(clients, { host: "127.0.0.1", port, path: "/", subscribe: null }, route);
    return await searchWith(harness, clients, route, new Map([["bare loop", bare.pid]]), startAt, label);
  } finally {
    await harness.stop();
  }
}

/** Starts a metrics process for each entry of `roles`. Clients connect to the last process. */
async function throughMetrics(route: Route, startAt: number, label: string, roles: readonly string[]): Promise<Found> {
  const harness = await LiveHarness.start();
  try {
    const pids = new Map<string, number>();
    let address = { port: 0 };
    for (const ROLES of roles) {
      const metrics = await harness.metrics({ ...UNCOALESCED, ROLES });
      pids.set(roles.length === 1 ? "metrics" : ROLES, metrics.pid);
      address = metrics;
    }
    const clients = await harness.clients();
    await openRoute(clients, harness.live(address), route);
    return await searchWith(harness, clients, route, pids, startAt, label);
  } finally {
    await harness.stop();
  }
}

/** Starts all services in one process. Clients connect to the metrics service. */
async function throughWholeStack(route: Route, startAt: number, label: string): Promise<Found> {
  const { harness, pid, port } = await LiveHarness.startWholeStack(UNCOALESCED);
  try {
    const clients = await harness.clients();
    await openRoute(clients, harness.live({ port }), route);
    return await searchWith(harness, clients, route, new Map([["kapi", pid]]), startAt, label);
  } finally {
    await harness.stop();
  }
}

async function openRoute(clients: Clients, address: ReturnType<LiveHarness["live"]>, route: Route): Promise<void> {
  const accounts = route.shared ? route.accounts : route.accounts / route.sockets;
  const accountStep = route.shared ? 0 : accounts;
  await clients.open({ ...address, firstAccount: FIRST_ACCOUNT, accounts, sockets: route.sockets, accountStep });
}

async function searchWith(
  harness: LiveHarness,
  clients: Clients,
  route: Route,
  pids: ReadonlyMap<string, number>,
  startAt: number,
  label: string,
): Promise<Found> {
  const source = await harness.source(route.accounts);
  const subscriptions = route.shared ? route.sockets * route.accounts : route.accounts;
  await source.call("each", { times: 1, perSecond: PRIME_PER_SECOND });
  const isPrimed = async (): Promise<boolean> => (await figuresOf(clients.workers)).started === subscriptions;
  await until("a sample for every subscription", isPrimed);
  const setup: Setup = { source, clients: clients.workers, fanOut: route.shared ? route.sockets : 1, pids };
  const best = await highestRate(setup, startAt, label);
  return { best, overloaded: await maximum(setup, best, label) };
}

function figure(what: string, { best, overloaded }: Found): Aim {
  const rate = (trial: Trial): string => `${Math.round(trial.perSecond).toLocaleString("en")}/s`;
  return {
    what: `${what}, p99 < ${AIM_P99_MS} ms`,
    figure: `${rate(best)} (p50 ${best.p50Ms} ms, p99 ${best.p99Ms} ms; at most ${rate(overloaded)})`,
    bound: bound(overloaded),
  };
}

function cost(what: string, best: Trial): Aim {
  return { what: `${what}, processor seconds per million deliveries`, figure: perMillion(best) };
}
