import { createOrganization, type Demo } from "@kapi/local";
import { startTestStack, type TestStack } from "@kapi/local/test-stack";
import { eventually } from "@kapi/testkit";
import { expect } from "vitest";

import { OutsideClient, pause } from "./outside-client.ts";

const CREDITS = 1_000_000;
/** Time limit until the gateways and the account service know a new organization. */
const KNOWN_TIMEOUT_MS = 20_000;

/**
 * With a short session timeout, another process soon takes over the work of a killed process.
 * Recorded quotes are off, unless a test names a file.
 */
const FOR_TESTS = { KAFKA_SESSION_TIMEOUT_MS: "3000", QUOTES_FILE: "" };

/** A whole kapi on the servers of the test run, with a demo organization. */
export interface RunningSystem {
  readonly stack: TestStack;
  readonly demo: Demo;
  /** Stops the services and removes their data. */
  stop(): Promise<void>;
}

/** A kapi with two gateways. */
export interface TwoGateways {
  readonly stack: TestStack;
  /**
   * Clients of a new organization for the first and the second gateway. Both gateways know its key.
   */
  newOrganization(): Promise<readonly [OutsideClient, OutsideClient]>;
  stop(): Promise<void>;
}

/**
 * Starts every service, and the gateway twice. `env` holds extra environment variables by service;
 * "all" is for every service.
 */
export async function startTwoGateways(
  env: Readonly<Record<string, Readonly<Record<string, string>>>> = {},
): Promise<TwoGateways> {
  const { all, ...others } = env;
  const stack = await startTestStack({ twice: ["gateway"], env: { all: { ...FOR_TESTS, ...all }, ...others } });
  const newOrganization = async (): Promise<readonly [OutsideClient, OutsideClient]> => {
    const { wsBase, tradingServerUrl } = stack;
    const addresses = {
      wsBase,
      tradingServerUrl,
      ...(await createOrganization(stack, { name: "Two", credits: CREDITS })),
    };
    const at = (baseUrl: string): OutsideClient => new OutsideClient({ baseUrl, ...addresses });
    const clients = [at(stack.baseUrl), at(stack.process("gateway-2").url)] as const;
    await Promise.all(clients.map(untilKnown));
    await untilServed(stack, clients[0]);
    return clients;
  };
  return { stack, newOrganization, stop: () => stack.stop() };
}

async function untilKnown(client: OutsideClient): Promise<void> {
  const deadline = Date.now() + KNOWN_TIMEOUT_MS;
  for (;;) {
    const { status } = await client.call("GET", "/credits/balance");
    if (status === 200) return;
    if (Date.now() > deadline)
      throw new Error(`GET /credits/balance of a new organization is still answered ${status}`);
    await pause(20);
  }
}

/**
 * Waits until the account service knows the organization's server. Internal routes cost no credits.
 */
async function untilServed(stack: TestStack, { demo }: OutsideClient): Promise<void> {
  const address = `${stack.url("account")}/internal/servers/${demo.serverId}/configuration`;
  const headers = { "x-service-token": stack.secrets.serviceTokens.gateway };
  await eventually(async () => expect((await fetch(address, { headers })).status).toBe(200), {
    timeoutMs: KNOWN_TIMEOUT_MS,
  });
}

/**
 * Starts a whole kapi. `env` holds extra environment variables by service; "all" is for every
 * service. With `together` all services run in one process, which starts sooner; default true.
 */
export async function startSystem(
  env: Readonly<Record<string, Readonly<Record<string, string>>>> = {},
  { together = true }: { readonly together?: boolean } = {},
): Promise<RunningSystem> {
  const stack = await startTestStack({ together, env: { ...env, all: { ...FOR_TESTS, ...env["all"] } } });
  try {
    return { stack, demo: await stack.createDemo(), stop: () => stack.stop() };
  } catch (error) {
    await stack.stop();
    throw error;
  }
}
