import { SCOPES, type ServerEntry } from "@kapi/contracts";
import { randomBase32 } from "@kapi/kernel";
import { z } from "zod";

import { LocalError } from "@kapi/servers";
import type { Stack } from "../stack.ts";

const REQUEST_TIMEOUT_MS = 10_000;
const ERROR_CHARACTERS = 300;
/** Random characters in the e-mail address of a demo user. */
const EMAIL_CHARACTERS = 4;

/** Leverages of the demo server (decisions, 4.10). */
const DEMO_LEVERAGES = [1, 2, 5, 10, 20, 25, 30, 50, 100, 200, 300, 400, 500, 1000, 2000, 5000, 10000];

export const DEMO_CONFIGURATION: ServerEntry["configuration"] = {
  serverName: "Kapi-Demo",
  companyName: "Kapi Demo Markets",
  currency: "USD",
  environment: "demo",
  supportedLeverage: DEMO_LEVERAGES,
  defaultLeverage: 100,
};

const Organization = z.object({ organizationId: z.guid() });
const Server = z.object({ serverId: z.guid() });
const User = z.object({ userId: z.guid(), password: z.string() });
const Key = z.object({ managementKey: z.string(), keyId: z.string() });

/** An organization that can be used: its credits, a server, and a key with all scopes. */
export interface ReadyOrganization {
  readonly organizationId: string;
  readonly serverId: string;
  readonly managementKey: string;
}

/** Makes an organization through the operator's routes, as often as it is called. */
export async function createOrganization(
  stack: Stack,
  options: { readonly name: string; readonly credits: number },
): Promise<ReadyOrganization> {
  const { organizationId } = await call(stack, "", { ...options }, Organization);
  const { serverId } = await registerServer(stack, organizationId);
  const { managementKey } = await call(stack, `/${organizationId}/keys`, { scopes: SCOPES }, Key);
  return { organizationId, serverId, managementKey };
}

/** Registers a demo server, or tells under which address a known one is reached now. */
export function registerServer(stack: Stack, organizationId: string, serverId?: string): Promise<{ serverId: string }> {
  const known = serverId === undefined ? {} : { serverId };
  const body = {
    ...known,
    tradingServerUrl: stack.tradingServerUrl,
    tradingServerToken: stack.secrets.tradingServerToken,
    configuration: DEMO_CONFIGURATION,
  };
  return call(stack, `/${organizationId}/servers`, body, Server);
}

/** With what a person signs in to the console. */
export interface ConsoleUser {
  readonly consoleEmail: string;
  readonly consolePassword: string;
}

/** Makes a user of an organization, who can sign in to the console. */
export async function createConsoleUser(stack: Stack, organizationId: string): Promise<ConsoleUser> {
  // Another one each time, for no two users share an address.
  const consoleEmail = `demo-${randomBase32(EMAIL_CHARACTERS)}@kapi.local`;
  const body = { email: consoleEmail, name: "Demo user" };
  const { password } = await call(stack, `/${organizationId}/users`, body, User);
  return { consoleEmail, consolePassword: password };
}

async function call<T>(stack: Stack, path: string, body: unknown, schema: z.ZodType<T>): Promise<T> {
  const response = await fetch(`${stack.url("organization")}/internal/organizations${path}`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-service-token": stack.secrets.serviceTokens.operator },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS),
  });
  const text = await response.text();
  if (response.ok) return schema.parse(JSON.parse(text));
  throw new LocalError(
    `The organization service refused ${path === "" ? "a new organization" : path}: ${response.status} ${text.slice(0, ERROR_CHARACTERS)}`,
  );
}
