import {
  CONSOLE_ROUTES,
  type InternalRoute,
  ORGANIZATION_ROUTES,
  pathOf,
  type RouteRequest,
  SCOPES,
  type ServerEntry,
} from "@kapi/contracts";
import { assertDefined, randomBase32 } from "@kapi/kernel";
import type { z } from "zod";

import { LocalError } from "@kapi/servers";
import type { Stack } from "../stack.ts";

const REQUEST_TIMEOUT_MS = 10_000;
const ERROR_CHARACTERS = 300;
/** Random characters in the e-mail address of a demo user. */
const EMAIL_CHARACTERS = 4;

/** Leverages of the server that {@link registerServer} registers (decisions, 4.10). */
const DEMO_LEVERAGES = [1, 2, 5, 10, 20, 25, 30, 50, 100, 200, 300, 400, 500, 1000, 2000, 5000, 10000];

/** The configuration of the server that {@link registerServer} registers. */
export const DEMO_CONFIGURATION: ServerEntry["configuration"] = {
  serverName: "Kapi-Demo",
  companyName: "Kapi Demo Markets",
  currency: "USD",
  environment: "demo",
  supportedLeverage: DEMO_LEVERAGES,
  defaultLeverage: 100,
};

/** An organization with credits, a server, and a key with all scopes. */
export interface ReadyOrganization {
  readonly organizationId: string;
  readonly serverId: string;
  readonly managementKey: string;
}

/**
 * Creates an organization with a server and a key, through the operator's routes. A repeated call
 * creates another organization.
 */
export async function createOrganization(
  stack: Stack,
  options: { readonly name: string; readonly credits: number },
): Promise<ReadyOrganization> {
  const { organizationId } = await call(stack, ORGANIZATION_ROUTES.createOrganization, { body: options });
  const { serverId } = await registerServer(stack, organizationId);
  const params = { organizationId };
  const { managementKey } = await call(stack, ORGANIZATION_ROUTES.createKey, { params, body: { scopes: SCOPES } });
  return { organizationId, serverId, managementKey };
}

/**
 * Registers a server in environment `demo`. With a `serverId`, sets the address, the token and the
 * configuration of that server again.
 */
export function registerServer(stack: Stack, organizationId: string, serverId?: string): Promise<{ serverId: string }> {
  const known = serverId === undefined ? {} : { serverId };
  const body = {
    ...known,
    tradingServerUrl: stack.tradingServerUrl,
    tradingServerToken: stack.secrets.tradingServerToken,
    configuration: DEMO_CONFIGURATION,
  };
  return call(stack, ORGANIZATION_ROUTES.registerServer, { params: { organizationId }, body });
}

/**
 * The credentials of a user for the console. Both are empty if the stack runs without the console
 * service.
 */
export interface ConsoleUser {
  readonly consoleEmail: string;
  readonly consolePassword: string;
}

/** Creates a user of an organization. The user can sign in to the console. */
export async function createConsoleUser(stack: Stack, organizationId: string): Promise<ConsoleUser> {
  if (!stack.services.has("console")) return { consoleEmail: "", consolePassword: "" };
  // Random, because the console rejects an e-mail address that another user has.
  const consoleEmail = `demo-${randomBase32(EMAIL_CHARACTERS)}@kapi.local`;
  const body = { email: consoleEmail, name: "Demo user" };
  const { password } = await call(stack, CONSOLE_ROUTES.createUser, { params: { organizationId }, body }, "console");
  return { consoleEmail, consolePassword: assertDefined(password, "generated password") };
}

async function call<R extends InternalRoute>(
  stack: Stack,
  route: R,
  request: RouteRequest<R>,
  service: "organization" | "console" = "organization",
): Promise<z.output<R["answer"]>> {
  const path = pathOf(route, request);
  const response = await fetch(stack.url(service) + path, {
    method: route.method,
    headers: { "content-type": "application/json", "x-service-token": stack.secrets.serviceTokens.operator },
    body: JSON.stringify(request.body),
    signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS),
  });
  const text = await response.text();
  if (!response.ok) {
    const error = `${response.status} ${text.slice(0, ERROR_CHARACTERS)}`;
    throw new LocalError(`The ${service} service refused ${route.method} ${path}: ${error}`);
  }
  return (route.answer as z.ZodType<z.output<R["answer"]>>).parse(JSON.parse(text));
}
