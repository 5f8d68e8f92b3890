import { existsSync, readFileSync } from "node:fs";
import path from "node:path";

import { OPERATIONS } from "@kapi/contracts";
import { delay } from "@kapi/kernel";
import { z } from "zod";

import { isRunning, LocalError, writePrivately } from "@kapi/servers";
import type { Stack } from "../stack.ts";
import {
  type ConsoleUser,
  createConsoleUser,
  createOrganization,
  type ReadyOrganization,
  registerServer,
} from "./operator.ts";
import { createTradingAccounts, findTradingAccounts } from "./trading-accounts.ts";

const DEMO_FILE = "demo.json";
const DEMO_CREDITS = 1_000_000;
const REQUEST_TIMEOUT_MS = 5_000;
/** Maximum time until the gateway knows a new key and Redis has the wallet. */
const USABLE_DEADLINE_MS = 20_000;
const POLL_MS = 50;
const UNAUTHORIZED = 401;
const PAYMENT_REQUIRED = 402;

/** Addresses and credentials of the demo organization, for programs; the file `demo.json`. */
const Demo = z.object({
  baseUrl: z.url(),
  wsBase: z.url(),
  managementKey: z.string(),
  organizationId: z.guid(),
  serverId: z.guid(),
  tradingServerUrl: z.url(),
  consoleUrl: z.url(),
  consoleEmail: z.string(),
  consolePassword: z.string(),
});
export type Demo = z.infer<typeof Demo>;
/** The kept part of `demo.json`. A file of an earlier release has no console user. */
const KeptOrganization = Demo.pick({ managementKey: true, organizationId: true, serverId: true }).extend(
  Demo.pick({ consoleEmail: true, consolePassword: true }).partial().shape,
);

/** A demo and its accounts with automatic trading. */
export type DemoWithAccounts = Demo & { readonly accountNumbers: readonly string[] };

/** What a new demo organization gets. {@link keptDemo} always uses the defaults. */
export interface DemoOptions {
  /** "Demo organization" by default. */
  readonly name?: string;
  /** Credits in the wallet; {@link DEMO_CREDITS} by default. */
  readonly credits?: number;
  /** Number of accounts with automatic trading, 0 to 3; 3 by default. */
  readonly autoTraders?: number;
}

/**
 * The demo of the stack that runs in `stateDir`. Throws LocalError if no stack runs there, or if
 * the folder has no {@link DEMO_FILE}.
 */
export function runningDemo(stateDir: string): Demo {
  const file = path.join(stateDir, DEMO_FILE);
  if (!isRunning(stateDir) || !existsSync(file)) throw new LocalError(`No kapi runs in ${stateDir}.`);
  return Demo.parse(JSON.parse(readFileSync(file, "utf8")));
}

/** Creates a new demo organization with credits, a server, a key, a console user and accounts. */
export async function createDemo(stack: Stack, options: DemoOptions = {}): Promise<DemoWithAccounts> {
  const { name = "Demo organization", credits = DEMO_CREDITS, autoTraders } = options;
  const organization = await createUsableOrganization(stack, { name, credits });
  const demo = { ...addressesOf(stack), ...organization };
  return { ...demo, accountNumbers: await createTradingAccounts(stack, demo, autoTraders) };
}

/**
 * Returns the demo organization of a state folder. Creates a new one if the folder has no
 * {@link DEMO_FILE}, or the gateway does not know the key in this file.
 */
export async function keptDemo(stack: Stack, stateDir: string): Promise<DemoWithAccounts> {
  const file = path.join(stateDir, DEMO_FILE);
  const known = await knownOrganization(stack, file);
  if (known === null) {
    const made = await createDemo(stack);
    const { accountNumbers: _shown, ...demo } = made;
    writePrivately(file, demo);
    return made;
  }
  const demo: Demo = { ...addressesOf(stack), ...known };
  writePrivately(file, demo);
  return { ...demo, accountNumbers: await findTradingAccounts(stack, demo) };
}

function addressesOf(stack: Stack): Pick<Demo, "baseUrl" | "wsBase" | "tradingServerUrl" | "consoleUrl"> {
  const { baseUrl, wsBase, tradingServerUrl, consoleUrl } = stack;
  return { baseUrl, wsBase, tradingServerUrl, consoleUrl };
}

async function knownOrganization(stack: Stack, file: string): Promise<(ReadyOrganization & ConsoleUser) | null> {
  if (!existsSync(file)) return null;
  const kept = KeptOrganization.parse(JSON.parse(readFileSync(file, "utf8")));
  const { managementKey, organizationId, serverId, consoleEmail, consolePassword } = kept;
  if ((await whenUsable(stack, managementKey, [UNAUTHORIZED, PAYMENT_REQUIRED])) === UNAUTHORIZED) return null;
  // The port of the trading server may differ from the last start.
  await registerServer(stack, organizationId, serverId);
  const user =
    consoleEmail === undefined || consolePassword === undefined
      ? await createConsoleUser(stack, organizationId)
      : { consoleEmail, consolePassword };
  return { managementKey, organizationId, serverId, ...user };
}

async function createUsableOrganization(
  stack: Stack,
  options: { readonly name: string; readonly credits: number },
): Promise<ReadyOrganization & ConsoleUser> {
  const organization = await createOrganization(stack, options);
  const end = Date.now() + USABLE_DEADLINE_MS;
  while ((await whenUsable(stack, organization.managementKey, [UNAUTHORIZED])) === UNAUTHORIZED) {
    if (Date.now() > end) throw new LocalError("The gateway does not know the key of the demo organization.");
    await delay(POLL_MS);
  }
  return { ...organization, ...(await createConsoleUser(stack, organization.organizationId)) };
}

/** Reads the wallet until the gateway returns it or a status of `ends`. Returns the status. */
async function whenUsable(stack: Stack, managementKey: string, ends: readonly number[]): Promise<number> {
  const end = Date.now() + USABLE_DEADLINE_MS;
  for (;;) {
    const response = await fetch(stack.baseUrl + OPERATIONS.getCreditBalance.path, {
      headers: { authorization: `Management ${managementKey}` },
      signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS),
    });
    const text = await response.text();
    if (response.ok || ends.includes(response.status)) return response.status;
    if (Date.now() > end) throw new LocalError(`The wallet could not be read: ${response.status} ${text}`);
    await delay(POLL_MS);
  }
}
