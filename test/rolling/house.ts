import { freePort, type Demo } from "@kapi/local";
import { eventually, startTestStack, type TestStack } from "@kapi/testkit";

import { Balancer } from "./balancer.ts";

/** All but the trading server, which keeps its market in memory and is one process, as a trading platform is one. */
const TWICE = [
  "account",
  "command-status",
  "export",
  "finance",
  "gateway",
  "metrics",
  "organization",
  "webhooks",
] as const;
export const TRADING_SERVER = "trading-server";
/** Far more than the balancers need to notice, and far less than in production. */
const STOP_DELAY_MS = 500;
const CREDITS = 10_000_000;
const KNOWN_TIMEOUT_MS = 30_000;

/** A kapi in which every service runs as two processes behind one address. */
export interface House {
  readonly stack: TestStack;
  /** An organization whose addresses are those of the balancers. */
  readonly demo: Demo;
  /** The first process of every service. */
  readonly first: readonly string[];
  /** The second one, of those that have one. */
  readonly second: readonly string[];
  /** Of the services with two processes, those of which at some moment none was ready. */
  alone(): readonly string[];
  stop(): Promise<void>;
}

/** Starts it. Services know each other by the addresses of the balancers. */
export async function startHouse(): Promise<House> {
  const ports = await choosePorts();
  const portOf = (name: string): number => ports[name] ?? 0;
  const balancers = new Map<string, Balancer>();
  const balance = async (name: string, listener: string): Promise<void> => {
    const backend = (suffix: string) => ({
      port: portOf(listener + suffix),
      probes: `http://127.0.0.1:${portOf(name + suffix)}`,
    });
    balancers.set(listener, await Balancer.start([backend(""), backend("-2")]));
  };
  for (const name of TWICE) await balance(name, name);
  await balance("metrics", "live");
  const authority = (name: string): string => balancers.get(name)?.authority ?? "";
  const stopBalancers = async (): Promise<void> => {
    await Promise.all([...balancers.values()].map((balancer) => balancer.stop()));
  };
  const urls = TWICE.map((name) => [variableOf(name), `http://${authority(name)}`] as const);
  const all = { ...Object.fromEntries(urls), STOP_DELAY_MS: String(STOP_DELAY_MS), QUOTES_FILE: "" };
  try {
    const stack = await startTestStack({ twice: TWICE, ports, env: { all } });
    const stop = async (): Promise<void> => {
      await stack.stop();
      await stopBalancers();
    };
    const made = await stack.makeDemo({ credits: CREDITS });
    const demo = { ...made, baseUrl: `http://${authority("gateway")}`, wsBase: `ws://${authority("live")}` };
    await untilKnown(demo.managementKey, [portOf("gateway"), portOf("gateway-2")]);
    const alone = (): string[] => [...balancers].flatMap(([name, balancer]) => (balancer.alone > 0 ? [name] : []));
    return { stack, demo, first: [...TWICE, TRADING_SERVER], second: TWICE.map((name) => `${name}-2`), alone, stop };
  } catch (error) {
    await stopBalancers();
    throw error;
  }
}

/** Every process has its port before the first one starts, for the balancers are told of it. */
async function choosePorts(): Promise<Readonly<Record<string, number>>> {
  const ports: Record<string, number> = {};
  for (const name of [...TWICE, "live"]) {
    for (const process of [name, `${name}-2`]) {
      let port = await freePort();
      while (Object.values(ports).includes(port)) port = await freePort();
      ports[process] = port;
    }
  }
  return ports;
}

/** A new key reaches each gateway by itself. */
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
