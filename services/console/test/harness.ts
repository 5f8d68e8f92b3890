import { randomUUID } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";

import { startDirectory, type Directory } from "@kapi/admission";
import { type ConsoleRole, ConsoleSession, CSRF_HEADER, SECURE_SESSION_COOKIE } from "@kapi/contracts";
import type { InternalClient } from "@kapi/http";
import { createKafka } from "@kapi/kafka";
import { ADMISSION_LIBRARY } from "@kapi/admission/redis";
import { assertDefined } from "@kapi/kernel";
import { startTestStack, type TestStack } from "@kapi/local/test-stack";
import { startRedis, type RedisConnection } from "@kapi/redis";
import { createLogger, Scope } from "@kapi/runtime";
import { startOwnerClient, createTestEnvironment, serverEntry, type TestEnvironment } from "@kapi/testkit";
import { z } from "zod";

import { type StandInServices, startStandInServices } from "./stand-in-services.ts";

/** Size in bytes of a file that is large enough to be compressed. */
const LARGE_ENOUGH_TO_COMPRESS = 2_000;
/** Password of every person that the harness creates. */
export const PASSWORD = "correct horse battery";

type Secrets = TestStack["secrets"];
/**
 * Paths of the operator's routes that the console serves. The organization service serves the other
 * routes.
 */
const CONSOLE_PATHS = /\/users(?:[/?]|$)|^\/internal\/audit(?:\?|$)/;

const Created = z.object({ organizationId: z.guid() });
const CreatedServer = z.object({ serverId: z.guid() });
const CreatedUser = z.object({ userId: z.guid() });

/** A person of an organization with one server. */
export interface ConsoleUser {
  readonly email: string;
  readonly userId: string;
  readonly organizationId: string;
  readonly serverId: string;
}

/**
 * The console and the organization service, with stand-ins for the other services that the two
 * call.
 */
export interface ConsoleHarness {
  readonly url: string;
  readonly environment: TestEnvironment;
  /** The tokens of the operator and of all services. */
  readonly secrets: Secrets;
  /**
   * Calls the routes for the operator in both services, and the routes of the organization service
   * that are for the console.
   */
  readonly client: Pick<InternalClient, "request" | "json">;
  readonly redis: RedisConnection;
  readonly directory: Directory;
  readonly standIns: StandInServices;
  /** Creates an organization with credits and one server, and a person with the role owner. */
  person(options?: { credits?: number; name?: string }): Promise<ConsoleUser>;
  /** Creates a person with this role in the organization of `person`. */
  colleague(person: ConsoleUser, role: ConsoleRole): Promise<ConsoleUser>;
  /** A new browser, by default at a network address of its own. */
  browser(address?: string): Browser;
  /** A browser in which the person is signed in. */
  signedIn(person: ConsoleUser): Promise<Browser>;
  stop(): Promise<void>;
}

/** The response to a request of a {@link Browser}. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The parsed body; empty if it is not JSON. */
  readonly body: Record<string, unknown>;
}

/**
 * Starts everything that one test file needs. `settings` are environment variables of the console.
 */
export async function startConsoleHarness(settings: Readonly<Record<string, string>> = {}): Promise<ConsoleHarness> {
  const scope = new Scope();
  const logger = createLogger({ service: "console-test", level: "silent" });
  const environment = await createTestEnvironment();
  await scope.start("environment", () => ({ value: environment, stop: () => environment.stop() }));
  const standIns = await scope.start("stand-in-services", () => startStandInServices());
  const others = {
    COMMAND_STATUS_URL: standIns.url,
    ACCOUNT_URL: standIns.url,
    FINANCE_URL: standIns.url,
    GATEWAY_URL: standIns.url,
    METRICS_URL: standIns.url,
    RISK_URL: standIns.url,
    WEBHOOKS_URL: standIns.url,
  };
  const listener = {
    CONSOLE_SECURE_COOKIES: "on",
    CONSOLE_TRUSTED_PROXIES: "127.0.0.1",
    CONSOLE_API_URL: "http://127.0.0.1:8080",
    CONSOLE_ASSETS: builtPage(environment),
  };
  const services = ["organization", "console"] as const;
  const env = { organization: others, console: { ...others, ...listener, ...settings } };
  const stack = await scope.start("stack", async () => {
    const value = await startTestStack({ environment, services, env });
    return { value, stop: () => value.stop() };
  });
  const { secrets } = stack;
  const [organization, console] = await Promise.all(
    services.map((owner) =>
      scope.start(`${owner} client`, () =>
        startOwnerClient({ secrets, owner, baseUrl: stack.url(owner), timeoutMs: 5_000 }),
      ),
    ),
  );
  const clientFor = (path: string): InternalClient =>
    assertDefined(CONSOLE_PATHS.test(path) ? console : organization, "a client");
  const client: ConsoleHarness["client"] = {
    request: (method, path, ...more) => clientFor(path).request(method, path, ...more),
    json: (method, path, ...more) => clientFor(path).json(method, path, ...more),
  };
  const redis = await scope.start("redis", () =>
    startRedis({
      url: environment.redisUrl,
      clientName: "test",
      functionLibraries: [ADMISSION_LIBRARY],
      logger,
    }),
  );
  const { kafkaBrokers, topicPrefix } = environment;
  const kafka = createKafka({ brokers: kafkaBrokers.split(","), clientId: "test", topicPrefix, logger });
  const fatal = (error: unknown): never => {
    throw error;
  };
  const directory = await scope.start("directory", () => startDirectory({ kafka, logger, fatal }));
  const url = new URL(stack.consoleUrl).origin;
  const browser = (address = randomAddress()): Browser => new Browser(url, address);
  return {
    url,
    environment,
    secrets,
    client,
    redis,
    directory,
    standIns,
    person: (options) => newPerson(client, standIns, options),
    colleague: async (person, role) => {
      const email = `${randomUUID()}@example.com`;
      const body = { email, name: `A ${role}`, password: PASSWORD, role };
      const path = `/internal/organizations/${person.organizationId}/users`;
      const { userId } = await client.json("POST", path, body, CreatedUser);
      return { ...person, email, userId };
    },
    browser,
    signedIn: async (person) => {
      const opened = browser();
      await opened.signIn(person.email, PASSWORD);
      return opened;
    },
    stop: () => scope.stop(),
  };
}

/** A client of the console that keeps cookies and the CSRF token, as a browser does. */
export class Browser {
  readonly #url: string;
  readonly #address: string;
  cookie: string | null = null;
  csrfToken: string | null = null;
  /** The cookies other than the session cookie, by name. */
  readonly others = new Map<string, string>();

  constructor(url: string, address: string) {
    this.#url = url;
    this.#address = address;
  }

  /** Calls the console's API; `headers` replace headers of the browser. */
  async ask(method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<Answer> {
    const response = await this.open(method, `/console/api${path}`, body, headers);
    const text = await response.text();
    const json: unknown = response.headers.get("content-type")?.includes("json") === true ? JSON.parse(text) : {};
    this.#keep(response, json);
    return { status: response.status, headers: response.headers, text, body: json as Record<string, unknown> };
  }

  /** Calls any path of the console's listener; returns the response without reading its body. */
  open(method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<Response> {
    return fetch(this.#url + path, {
      method,
      redirect: "manual",
      headers: {
        "x-forwarded-for": this.#address,
        ...this.#cookies(),
        ...(this.csrfToken === null || method === "GET" ? {} : { [CSRF_HEADER]: this.csrfToken }),
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  }

  signIn(email: string, password: string): Promise<Answer> {
    return this.ask("POST", "/session", { email, password });
  }

  #cookies(): Record<string, string> {
    const session = this.cookie === null ? [] : [[SECURE_SESSION_COOKIE, this.cookie] as const];
    const all = [...session, ...this.others].map(([name, value]) => `${name}=${value}`);
    return all.length === 0 ? {} : { cookie: all.join("; ") };
  }

  /** Keeps the cookies that a response sets. */
  keepCookies(response: Response): void {
    for (const line of response.headers.getSetCookie()) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      if (name === SECURE_SESSION_COOKIE) this.cookie = value === "" ? null : value;
      else if (value === "") this.others.delete(name);
      else this.others.set(name, value);
    }
  }

  #keep(response: Response, json: unknown): void {
    this.keepCookies(response);
    const session = ConsoleSession.safeParse(json);
    if (session.success) this.csrfToken = session.data.csrfToken;
  }
}

async function newPerson(
  client: ConsoleHarness["client"],
  standIns: StandInServices,
  { credits = 100, name = "Person" }: { credits?: number; name?: string } = {},
): Promise<ConsoleUser> {
  const { organizationId } = await client.json("POST", "/internal/organizations", { name: "Test", credits }, Created);
  const base = `/internal/organizations/${organizationId}`;
  const { configuration, tradingServerUrl } = serverEntry();
  const server = { configuration, tradingServerUrl };
  const { serverId } = await client.json("POST", `${base}/servers`, server, CreatedServer);
  standIns.accounts.set(serverId, []);
  const email = `${randomUUID()}@example.com`;
  const user = { email: email.toUpperCase(), name, password: PASSWORD };
  const { userId } = await client.json("POST", `${base}/users`, user, CreatedUser);
  return { email, userId, organizationId, serverId };
}

/** Creates a folder with files like those of the built page; returns its path. */
function builtPage({ stateDir }: TestEnvironment): string {
  const folder = path.join(stateDir, "page");
  mkdirSync(path.join(folder, "assets"), { recursive: true });
  writeFileSync(path.join(folder, "index.html"), "<!doctype html><title>Console</title>");
  writeFileSync(path.join(folder, "assets", "index-0a1b2c.js"), "export {};".padEnd(LARGE_ENOUGH_TO_COMPRESS));
  return folder;
}

/** An address of the network that is reserved for benchmarks (RFC 2544). */
function randomAddress(): string {
  const byte = (): number => Math.floor(Math.random() * 256);
  return `198.18.${byte()}.${byte()}`;
}
