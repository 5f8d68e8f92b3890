import { fork } from "node:child_process";
import { once } from "node:events";
import path from "node:path";

import { type Demo } from "@kapi/local";
import { freePort } from "@kapi/servers";
import { startTestStack, type TestStack } from "@kapi/local/test-stack";
import { eventually } from "@kapi/testkit";

import type { Backend } from "./balancer.ts";

/**
 * Services with two processes: all but the trading simulator, which keeps its market in memory.
 */
const TWICE = [
  "account",
  "command-status",
  "console",
  "export",
  "finance",
  "gateway",
  "metrics",
  "organization",
  "risk",
  "webhooks",
] as const;
export const TRADING_SERVER = "trading-simulator";
/** Suffix of the name of a service's second process. */
const SECOND = "-2";
/** Far longer than the interval of a balancer's checks; far shorter than the Helm chart's 5 s. */
const STOP_DELAY_MS = 500;
const CREDITS = 10_000_000;
const KNOWN_TIMEOUT_MS = 30_000;

/** A kapi whose services, except the trading simulator, run as two processes each. */
export interface Cluster {
  readonly stack: TestStack;
  /** An organization with the addresses of the balancers. */
  readonly demo: Demo;
  /** The first process of each service. */
  readonly first: readonly string[];
  /** The second process of each service except the trading simulator. */
  readonly second: readonly string[];
  /**
   * Balancers that had a ready process and at some later time had none. A balancer has the name of
   * its service; `live` is the balancer of the live stream.
   */
  withoutReadyProcess(): Promise<readonly string[]>;
  stop(): Promise<void>;
}

/** Starts a cluster. Callers reach both processes of a service through one balancer. */
export async function startCluster(): Promise<Cluster> {
  const ports = await choosePorts();
  const portOf = (name: string): number => ports[name] ?? 0;
  const behind = (name: string, listener: string): Backend[] =>
    ["", SECOND].map((suffix) => ({
      port: portOf(listener + suffix),
      probes: `http://127.0.0.1:${portOf(name + suffix)}`,
    }));
  const plan = Object.fromEntries(TWICE.map((name) => [name, behind(name, name)]));
  const balancers = await startBalancers({ ...plan, live: behind("metrics", "live") });
  const authority = (name: string): string => balancers.authorities[name] ?? "";
  const urls = TWICE.map((name) => [variableOf(name), `http://${authority(name)}`] as const);
  const all = { ...Object.fromEntries(urls), STOP_DELAY_MS: String(STOP_DELAY_MS), QUOTES_FILE: "" };
  try {
    const stack = await startTestStack({ twice: TWICE, ports, env: { all } });
    const stop = async (): Promise<void> => {
      await stack.stop();
      balancers.stop();
    };
    const made = await stack.createDemo({ credits: CREDITS });
    const demo = { ...made, baseUrl: `http://${authority("gateway")}`, wsBase: `ws://${authority("live")}` };
    await untilKnown(demo.managementKey, [portOf("gateway"), portOf("gateway" + SECOND)]);
    const second = TWICE.map((name) => name + SECOND);
    return {
      stack,
      demo,
      first: [...TWICE, TRADING_SERVER],
      second,
      withoutReadyProcess: () => balancers.withoutReadyProcess(),
      stop,
    };
  } catch (error) {
    balancers.stop();
    throw error;
  }
}

interface Balancers {
  /** Host and port of each balancer. */
  readonly authorities: Readonly<Record<string, string>>;
  withoutReadyProcess(): Promise<readonly string[]>;
  stop(): void;
}

/** Starts the balancers in a child process, which exits when this process exits. */
async function startBalancers(plan: Readonly<Record<string, readonly Backend[]>>): Promise<Balancers> {
  const child = fork(path.join(import.meta.dirname, "balancers.ts"), [JSON.stringify(plan)], { execArgv: [] });
  const [authorities] = (await once(child, "message")) as [Balancers["authorities"]];
  return {
    authorities,
    withoutReadyProcess: async () => {
      child.send("withoutReadyProcess");
      const [names] = (await once(child, "message")) as [readonly string[]];
      return names;
    },
    stop: () => void child.kill(),
  };
}

/** Chooses all ports before the first process starts, because the balancers need them. */
async function choosePorts(): Promise<Readonly<Record<string, number>>> {
  const ports: Record<string, number> = {};
  for (const name of [...TWICE, "live"]) {
    for (const process of [name, name + SECOND]) {
      let port = await freePort();
      while (Object.values(ports).includes(port)) port = await freePort();
      ports[process] = port;
    }
  }
  return ports;
}

/** Waits until every gateway accepts the key, because a new key reaches each gateway separately. */
async function untilKnown(managementKey: string, ports: readonly number[]): Promise<void> {
  for (const port of ports) {
    const url = `http://127.0.0.1:${port}/api/v1/management/credits/balance`;
    const headers = { authorization: `Management ${managementKey}` };
    await eventually(async () => (await fetch(url, { headers })).ok, { timeoutMs: KNOWN_TIMEOUT_MS });
  }
}

function variableOf(service: string): string {
  return `${service.replaceAll("-", "_").toUpperCase()}_URL`;
}
