import { randomUUID } from "node:crypto";

import { ORGANIZATION_ROUTES, type ShownServer } from "@kapi/contracts";
import {
  ApiError,
  createHttpServer,
  startInternalClient,
  DependencyError,
  type FastifyInstance,
  type InternalClient,
  startListening,
  serveRaw,
} from "@kapi/http";
import { createLogger, Health, Scope } from "@kapi/runtime";
import { afterAll, expect, it } from "vitest";

import { createCredits, createDirectory } from "./organization.ts";

const ORGANIZATION = randomUUID();
const scope = new Scope();
afterAll(() => scope.stop());

/** A client of an organization service with the routes of `install`. */
async function clientOf(install: (app: FastifyInstance) => void): Promise<InternalClient> {
  const app = createHttpServer({ logger: createLogger({ service: "test", level: "silent" }), health: new Health() });
  install(app);
  const { url } = await scope.start("server", () => startListening(app, { host: "127.0.0.1", port: 0 }));
  const credentials = { "x-service-token": "console.test" };
  return scope.start("client", () => startInternalClient({ baseUrl: url, credentials, timeoutMs: 5_000 }));
}

function refusing(error: ApiError): Promise<InternalClient> {
  return clientOf((app) =>
    serveRaw(app, ORGANIZATION_ROUTES.getCreditBalance, () => {
      throw error;
    }),
  );
}

it("a rejection by the organization service is an ApiError, and a failure of the service is a DependencyError", async () => {
  const missing = await refusing(new ApiError("WALLET_NOT_FOUND"));
  await expect(createCredits(missing).balance(ORGANIZATION)).rejects.toMatchObject({
    name: "ApiError",
    code: "WALLET_NOT_FOUND",
  });
  const unsynced = await refusing(new ApiError("DEPENDENCY_UNAVAILABLE", { headers: { "retry-after": "1" } }));
  await expect(createCredits(unsynced).balance(ORGANIZATION)).rejects.toThrow(DependencyError);
});

it("a 401 from the organization service is a DependencyError, not a 401 for the person; so is an answer of a wrong shape", async () => {
  const refused = await refusing(new ApiError("AUTHENTICATION_REQUIRED"));
  await expect(createCredits(refused).balance(ORGANIZATION)).rejects.toThrow(DependencyError);
  const other = await clientOf((app) => serveRaw(app, ORGANIZATION_ROUTES.getCreditBalance, () => ({ wallet: 1 })));
  await expect(createCredits(other).balance(ORGANIZATION)).rejects.toThrow(DependencyError);
});

it("the list of keys is read to its end, up to the maximum number of keys", async () => {
  const asked: string[] = [];
  const key = { scopes: [], serverIds: null, status: "active", createdAt: "", expiresAt: null, rateLimit: null };
  let totalPages = 3;
  const client = await clientOf((app) =>
    serveRaw(app, ORGANIZATION_ROUTES.listKeys, ({ query: { page, limit } }) => {
      asked.push(`${page}/${limit}`);
      const keys = Array.from({ length: limit }, (_, at) => ({ ...key, keyId: `${page}-${at}`, name: "Key" }));
      return { keys, pagination: { page, limit, total: totalPages * limit, totalPages } };
    }),
  );
  const keys = await createDirectory(client).keys(ORGANIZATION);
  expect([keys.length, keys[0]?.keyId, keys.at(-1)?.keyId]).toEqual([300, "1-0", "3-99"]);
  expect(asked).toEqual(["1/100", "2/100", "3/100"]);
  totalPages = 50;
  expect(await createDirectory(client).keys(ORGANIZATION)).toHaveLength(1_000);
});

it("the list of servers says how many servers there are, also if it does not have them all", async () => {
  const configuration: ShownServer["configuration"] = {
    serverName: "Demo",
    companyName: "Test",
    currency: "USD",
    environment: "demo",
    supportedLeverage: [100],
    defaultLeverage: null,
  };
  const server = { status: "active", tradingServerUrl: "http://127.0.0.1:1", configuration };
  const client = await clientOf((app) =>
    serveRaw(app, ORGANIZATION_ROUTES.listServers, ({ query: { page, limit } }) => ({
      servers: Array.from({ length: limit }, () => ({ ...server, serverId: randomUUID() })),
      pagination: { page, limit, total: 612, totalPages: 7 },
    })),
  );
  const { servers, total } = await createDirectory(client).servers(ORGANIZATION);
  expect([servers.length, total]).toEqual([500, 612]);
});
