import { createHash } from "node:crypto";

import { createLogger, Health } from "@kapi/runtime";
import { describe, expect, it } from "vitest";

import { createHttpServer } from "./server.ts";
import { admitCallers, type CallerSecrets, serviceCredentials } from "./service-callers.ts";

const SHARED = "the token that all services of 0.1.0 share";
const LIST = "/internal/organizations";
const AUDIT = "/internal/audit-outbox";
const USAGE = "/internal/organizations/:organizationId/credits/usage";

const tokenOf = (name: string): string => `${name}.${name}-0123456789-0123456789-0123456789`;
const digestOf = (token: string): Buffer => createHash("sha256").update(token).digest();
const DIGESTS = new Map(["gateway", "operator", "account"].map((name) => [name, [digestOf(tokenOf(name))]]));

function serverWith(secrets: CallerSecrets = { SERVICE_TOKEN_DIGESTS: DIGESTS }) {
  const logger = createLogger({ service: "test", level: "silent" });
  const app = createHttpServer({ logger, health: new Health() });
  admitCallers(app, "organization", secrets);
  app.get(LIST, () => ({ organizations: [] }));
  app.get(USAGE, () => ({ usage: [] }));
  app.get(AUDIT, () => ({ events: [] }));
  app.get("/open", () => ({}));
  const ask = async (url: string, headers: Readonly<Record<string, string>>) => {
    const { statusCode, body } = await app.inject({ url, headers: { ...headers } });
    return { status: statusCode, body };
  };
  return { app, ask };
}

const as = (token: string): Record<string, string> => ({ "x-service-token": token });
const usageOf = USAGE.replace(":organizationId", "o1");

describe("an internal operation", () => {
  it("allows exactly the callers in the table", async () => {
    const { ask } = serverWith();
    expect((await ask(LIST, as(tokenOf("operator")))).status).toBe(200);
    expect((await ask(usageOf, as(tokenOf("gateway")))).status).toBe(200);
    for (const [url, caller] of [
      [LIST, "gateway"],
      [LIST, "account"],
      [usageOf, "operator"],
      [usageOf, "account"],
    ] as const) {
      const { status, body } = await ask(url, as(tokenOf(caller)));
      expect(status).toBe(401);
      expect(body).toContain(`${caller} may not call GET /internal/organizations`);
    }
  });

  it("authenticates a caller by the caller's own token only: a token under the name of another caller is 401", async () => {
    const { ask } = serverWith();
    const secret = tokenOf("gateway").slice("gateway".length);
    for (const token of [
      "",
      "operator",
      "operator.",
      `operator${secret}`,
      `metrics${secret}`,
      `__proto__${secret}`,
      ".",
    ])
      expect(await ask(LIST, as(token))).toMatchObject({ status: 401 });
    expect((await ask(LIST, {})).status).toBe(401);
    expect((await ask("/open", {})).status).toBe(200);
  });

  it("accepts both tokens of a caller during a rotation", async () => {
    const fresh = "operator.fresh-0123456789-0123456789-0123456789";
    const both = new Map([["operator", [digestOf(tokenOf("operator")), digestOf(fresh)]]]);
    const { ask } = serverWith({ SERVICE_TOKEN_DIGESTS: both });
    expect((await ask(LIST, as(tokenOf("operator")))).status).toBe(200);
    expect((await ask(LIST, as(fresh))).status).toBe(200);
  });

  it("accepts the shared token of release 0.1.0 only if it is configured, and ignores it if the request has a caller's own token", async () => {
    const shared = { "x-internal-token": SHARED };
    expect((await serverWith().ask(LIST, shared)).status).toBe(401);
    const { ask } = serverWith({ SERVICE_TOKEN_DIGESTS: DIGESTS, INTERNAL_TOKEN: SHARED });
    expect((await ask(LIST, shared)).status).toBe(200);
    const audit = await ask(AUDIT, shared);
    expect(audit.status).toBe(401);
    expect(audit.body).toContain(`a service of 0.1.0 may not call GET ${AUDIT}`);
    expect((await ask(LIST, { "x-internal-token": "another one" })).status).toBe(401);
    expect((await ask(LIST, { ...shared, ...as(tokenOf("gateway")) })).status).toBe(401);
    expect((await ask(LIST, { ...shared, ...as("operator.wrong") })).status).toBe(401);
  });

  it("that is not in the table is an error when its service starts", () => {
    const { app } = serverWith();
    expect(() => app.get("/internal/forgotten", () => ({}))).toThrow("GET /internal/forgotten of organization");
  });
});

describe("a caller's credentials", () => {
  it("are the caller's own token and, while services of 0.1.0 run, also the shared token", () => {
    const own = tokenOf("gateway");
    expect(serviceCredentials({ SERVICE_TOKEN: own })).toEqual({ "x-service-token": own });
    expect(serviceCredentials({ SERVICE_TOKEN: own, INTERNAL_TOKEN: SHARED })).toEqual({
      "x-service-token": own,
      "x-internal-token": SHARED,
    });
  });
});
