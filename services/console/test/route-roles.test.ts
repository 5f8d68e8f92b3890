/** The roles that each route of the console allows: each role calls the real routes. */
import { createHash, randomUUID } from "node:crypto";

import { CONSOLE_API, CONSOLE_ROLES, type ConsoleRole, CSRF_HEADER, SESSION_COOKIE } from "@kapi/contracts";
import { createHttpServer, type FastifyInstance } from "@kapi/http";
import { systemClock } from "@kapi/kernel";
import { createLogger, Health } from "@kapi/runtime";
import { beforeAll, describe, expect, it } from "vitest";

import type { ActiveUser, ConsoleSessions, Users } from "../src/domain/ports.ts";
import { type ConsoleDependencies, registerConsoleRoutes } from "../src/inbound/http/console.ts";
import { PUBLIC_ROUTES, ROUTE_ROLES } from "./route-roles.ts";

const CSRF_TOKEN = "token";
const UNKNOWN = 401;
const FORBIDDEN = 403;

interface Route {
  readonly method: string;
  readonly path: string;
  readonly name: string;
}

const routes: Route[] = [];
let app: FastifyInstance;
/** Whether the organization requires a second factor, which nobody has. */
let requiresTwoFactor = false;

beforeAll(async () => {
  app = createHttpServer({
    logger: createLogger({ service: "test", level: "silent" }),
    health: new Health(),
    bodyErrors: "when-parsed",
  });
  app.addHook("onRoute", ({ method, url }) => {
    for (const one of [method].flat()) {
      // Fastify adds HEAD to every GET.
      if (one === "HEAD" || !url.startsWith(`${CONSOLE_API}/`)) continue;
      const path = url.slice(CONSOLE_API.length);
      routes.push({ method: one, path, name: `${one} ${path}` });
    }
  });
  registerConsoleRoutes(app, dependencies());
  await app.ready();
});

/**
 * Dependencies with sessions and users; most others reject every call. So a request that passes the
 * checks of its route gets a success, or an error other than 401 and 403.
 */
function dependencies(): ConsoleDependencies {
  const failing = onlyWith({});
  const sessions = {
    use: (hash: string) => {
      const role = CONSOLE_ROLES.find((one) => hashOf(sessionOf(one)) === hash);
      const state = { userId: role ?? "", version: 1, csrfToken: CSRF_TOKEN, createdAtMs: 0, proof: "own" as const };
      return Promise.resolve(role === undefined ? null : state);
    },
  } satisfies Partial<ConsoleSessions>;
  const users = { byId: (role: string) => Promise.resolve(userOf(role as ConsoleRole)) } satisfies Partial<Users>;
  const known: Record<string, unknown> = {
    sessions: onlyWith(sessions),
    users: onlyWith(users),
    assets: new Map(),
    secureCookies: false,
    apiUrl: "http://127.0.0.1",
    providerSignIn: { provider: failing, hasSecondFactor: false },
    signInOptions: { passwordRecovery: true, provider: null },
    sealingKeys: null,
    clock: systemClock,
    logMailFailure: () => undefined,
    logProviderFailure: () => undefined,
  };
  return new Proxy(known, { get: (own, name: string) => own[name] ?? failing }) as unknown as ConsoleDependencies;
}

/** An object with these methods; all other methods reject. */
function onlyWith(methods: Readonly<Record<string, unknown>>): object {
  return new Proxy(methods, {
    get: (own, name: string) => own[name] ?? (() => Promise.reject(new Error(`${name} is not in this test`))),
  });
}

function userOf(role: ConsoleRole): ActiveUser {
  return {
    userId: randomUUID(),
    organizationId: randomUUID(),
    organizationName: "Test",
    email: `${role}@example.com`,
    name: role,
    role,
    passwordHash: "",
    sessionVersion: 1,
    twoFactor: false,
    requiresTwoFactor,
    recoveryCodesLeft: 0,
    createdAt: new Date(0).toISOString(),
    lastSignInAt: null,
    disabledAt: null,
  };
}

/** The id of the session of a role: 43 characters. */
function sessionOf(role: ConsoleRole): string {
  return role.padEnd(43, "_");
}

function hashOf(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

async function statusOf({ method, path }: Route, role: ConsoleRole | null, token = CSRF_TOKEN): Promise<number> {
  const url = CONSOLE_API + path.replaceAll(/:\w+/g, () => randomUUID());
  const cookie = role === null ? {} : { cookie: `${SESSION_COOKIE}=${sessionOf(role)}` };
  const answer = await app.inject({ method: method as "GET", url, headers: { ...cookie, [CSRF_HEADER]: token } });
  return answer.statusCode;
}

const isPassed = (status: number): boolean => status !== UNKNOWN && status !== FORBIDDEN;
const withSession = (): Route[] => routes.filter(({ name }) => !PUBLIC_ROUTES.includes(name));

describe("the routes of the console", () => {
  it("are exactly those of the table of roles: a new route needs a row there", () => {
    const known = [...Object.keys(ROUTE_ROLES), ...PUBLIC_ROUTES];
    expect(routes.map(({ name }) => name).toSorted()).toEqual(known.toSorted());
    expect(routes.length).toBeGreaterThan(40);
  });

  it("need a session, except the public routes", async () => {
    for (const route of withSession()) expect([route.name, await statusOf(route, null)]).toEqual([route.name, UNKNOWN]);
  });

  it.each(CONSOLE_ROLES)("let %s do what the role allows, and nothing else", async (role) => {
    for (const route of withSession()) {
      const isAllowed = ROUTE_ROLES[route.name]?.includes(role) ?? false;
      const status = await statusOf(route, role);
      expect([route.name, isPassed(status) ? "passed" : status]).toEqual([
        route.name,
        isAllowed ? "passed" : FORBIDDEN,
      ]);
    }
  });

  it("reject a change without the right CSRF token, even from an owner", async () => {
    for (const route of withSession()) {
      const status = await statusOf(route, "owner", "another");
      expect([route.name, isPassed(status)]).toEqual([route.name, route.method === "GET"]);
    }
  });

  it("let an owner without the required second factor use only the routes of their session, password and second factor", async () => {
    requiresTwoFactor = true;
    try {
      const passed: string[] = [];
      for (const route of withSession()) if (isPassed(await statusOf(route, "owner"))) passed.push(route.name);
      expect(passed.toSorted()).toEqual(
        [
          "GET /session",
          "DELETE /session",
          "PUT /session/password",
          "GET /sessions",
          "DELETE /sessions/:sessionId",
          "POST /sessions/end-others",
          "POST /two-factor",
          "POST /two-factor/confirm",
          "POST /two-factor/disable",
          "POST /two-factor/recovery-codes",
        ].toSorted(),
      );
    } finally {
      requiresTwoFactor = false;
    }
  });
});
