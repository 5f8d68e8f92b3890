import { randomUUID } from "node:crypto";

import { authenticate, startDirectory, type Directory } from "@kapi/admission";
import { type CommandEvent, CreditUsageAnswer, SCOPES, TOPICS } from "@kapi/contracts";
import type { InternalClient } from "@kapi/http";
import { createKafka, startProducer, type Producer } from "@kapi/kafka";
import { openPassword, sealPassword, systemClock, toIso } from "@kapi/kernel";
import { ADMISSION_LIBRARY, admit, type WalletState } from "@kapi/admission/redis";
import { startPool, statement } from "@kapi/postgres";
import { startRedis, type RedisConnection } from "@kapi/redis";
import { configFields, createLogger, Health, loadConfig, Scope } from "@kapi/runtime";
import { freePort } from "@kapi/servers";
import {
  startOwnerClient,
  createTestEnvironment,
  eventually,
  serverEntry,
  TcpProxy,
  type TestEnvironment,
  wrongClock,
} from "@kapi/testkit";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";

import { ConfigSchema } from "../src/config.ts";
import { startService } from "../src/service.ts";
import { startCommandStatus, type StandIn } from "./command-status-stand-in.ts";

const Created = z.object({ organizationId: z.guid(), walletId: z.guid() });
const CreatedKey = z.object({ keyId: z.string(), managementKey: z.string() });
const CreatedServer = z.object({ serverId: z.guid() });

const KEY_LIFE_MS = 10 * 60_000;
// Inserts a server, as another process of the service would. $1 server, $2 organization,
// $3 configuration, $4 token.
const REGISTER_WITH_TOKEN = statement<never>(
  "test_register_server",
  `insert into servers (server_id, organization_id, trading_server_url, configuration, sealed_token, created_at, status,
     version)
   values ($1, $2, 'http://127.0.0.1:7001', $3, $4, now(), 'active', 1)`,
);
const WAITING_FOR_LOCK = statement<{ pid: number }>(
  "test_waiting_for_lock",
  `select pid from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
);

const scope = new Scope();
const health = new Health();
const logger = createLogger({ service: "organization-test", level: "silent" });
let environment: TestEnvironment;
/** A proxy between the service and PostgreSQL. */
let postgres: TcpProxy;
let commandStatus: StandIn;
let client: InternalClient;
let redis: RedisConnection;
let directory: Directory;
let producer: Producer;

beforeAll(async () => {
  environment = await createTestEnvironment();
  await scope.start("environment", () => ({ value: environment, stop: () => environment.stop() }));
  const { secrets } = environment;
  commandStatus = await scope.start("command-status", () => startCommandStatus(secrets));
  const port = await freePort();
  const front = await TcpProxy.inFrontOf(environment.postgresUrl);
  postgres = await scope.start("proxy", () => ({ value: front.proxy, stop: () => front.proxy.close() }));
  const SERVICE_TOKEN = secrets.serviceTokens.organization;
  const addresses = {
    SERVICE_TOKEN,
    HTTP_PORT: String(port),
    COMMAND_STATUS_URL: commandStatus.url,
    POSTGRES_URL: front.url,
  };
  const config = loadConfig(ConfigSchema, { ...environment.env, ...addresses });
  const fatal = (error: unknown): never => {
    throw error;
  };
  await startService({ config, scope, logger, health, clock: wrongClock, fatal });
  const baseUrl = `http://127.0.0.1:${port}`;
  client = await scope.start("client", () =>
    startOwnerClient({ secrets, owner: "organization", baseUrl, timeoutMs: 5_000 }),
  );
  redis = await scope.start("redis", () =>
    startRedis({ url: environment.redisUrl, clientName: "test", functionLibraries: [ADMISSION_LIBRARY], logger }),
  );
  const { kafkaBrokers, topicPrefix } = environment;
  const kafka = createKafka({ brokers: kafkaBrokers.split(","), clientId: "test", topicPrefix, logger });
  producer = await scope.start("producer", () => startProducer(kafka));
  directory = await scope.start("directory", () => startDirectory({ kafka, logger, fatal }));
  await eventually(() => health.ready().ok);
});
afterAll(() => scope.stop());

async function organizationWith(
  credits: number,
): Promise<{ organizationId: string; keyId: string; managementKey: string }> {
  const { organizationId } = await client.json("POST", "/internal/organizations", { name: "Test", credits }, Created);
  const path = `/internal/organizations/${organizationId}/keys`;
  // By the wrong clock of the service's machine, this time passed long ago.
  const expiresAt = toIso(systemClock.nowMs() + KEY_LIFE_MS);
  return { organizationId, ...(await client.json("POST", path, { scopes: SCOPES, expiresAt }, CreatedKey)) };
}

function call(organizationId: string, keyId: string, price: number) {
  return admit(redis, {
    callerName: keyId,
    organizationId,
    chargeId: randomUUID(),
    mode: "consume",
    price,
    readPrice: 1,
    operation: "getCommand",
    requestId: "request",
    rateLimit: null,
    records: [],
  });
}

async function walletOf(organizationId: string, keyId: string): Promise<WalletState> {
  const reply = await call(organizationId, keyId, 0);
  if (reply.kind !== "admitted") throw new Error(reply.kind);
  return reply.wallet;
}

test("a new key reaches every reader of the directory, and is rejected everywhere after it is revoked", async () => {
  const { organizationId, keyId, managementKey } = await organizationWith(10);
  await eventually(() => directory.key(keyId) !== undefined);
  const entry = authenticate(directory, systemClock, `Management ${managementKey}`);
  expect(entry).toMatchObject({ organizationId, keyId, scopes: SCOPES, serverIds: null, status: "active" });
  expect(JSON.stringify(entry)).not.toContain(managementKey.split(".")[2]);
  expect(await call(organizationId, keyId, 1)).toMatchObject({ kind: "admitted" });

  expect((await client.request("DELETE", `/internal/keys/${keyId}`)).status).toBe(200);
  expect(await call(organizationId, keyId, 1)).toEqual({ kind: "revoked" });
  await eventually(() => directory.key(keyId)?.status === "revoked");
  expect(() => authenticate(directory, systemClock, `Management ${managementKey}`)).toThrow("authentication required");
});

test("registering a server again announces it again; another organization cannot register it", async () => {
  const { organizationId } = await organizationWith(0);
  const { configuration } = serverEntry();
  const register = (owner: string, body: object) =>
    client.request("POST", `/internal/organizations/${owner}/servers`, { configuration, ...body });
  const first = await register(organizationId, { tradingServerUrl: "http://127.0.0.1:7001" });
  const { serverId } = CreatedServer.parse(JSON.parse(first.body.toString()));
  await register(organizationId, { serverId, tradingServerUrl: "http://127.0.0.1:7002" });
  await eventually(() => directory.server(serverId)?.tradingServerUrl === "http://127.0.0.1:7002");
  const other = await organizationWith(0);
  const refused = await register(other.organizationId, { serverId, tradingServerUrl: "http://127.0.0.1:7003" });
  expect(refused.status).toBe(403);
});

test("a server's token is announced only in sealed form, is never shown, and must be given again for a new URL", async () => {
  const { organizationId } = await organizationWith(0);
  const path = `/internal/organizations/${organizationId}/servers`;
  const { configuration } = serverEntry();
  const token = "the-token-of-this-server-alone";
  const body = { configuration, tradingServerUrl: "http://127.0.0.1:7001", tradingServerToken: token };
  const { serverId } = await client.json("POST", path, body, CreatedServer);
  const keys = configFields.keyring.parse(environment.secrets.tradingServerSealingKeys);
  const sealedTokenOf = (version: number) =>
    eventually(() => {
      const entry = directory.server(serverId);
      expect(entry?.version).toBe(version);
      return entry?.sealedToken;
    });
  const sealed = await sealedTokenOf(1);
  if (sealed === undefined) throw new Error("the directory has no token");
  expect(openPassword(keys, serverId, sealed)).toBe(token);
  const shown = (await client.request("GET", `${path}?page=1&limit=10`)).body.toString();
  expect(shown).toContain(serverId);
  expect(shown).not.toMatch(/token|ciphertext/i);

  const inNoHeader = await client.request("POST", path, { ...body, tradingServerToken: `${token}\n` });
  expect(JSON.parse(inNoHeader.body.toString())).toMatchObject({ issues: [{ path: ["tradingServerToken"] }] });

  const { tradingServerToken: _token, ...again } = { ...body, serverId };
  await client.json("POST", path, again, CreatedServer);
  expect(await sealedTokenOf(2)).toEqual(sealed);
  const moved = { ...again, tradingServerUrl: "http://127.0.0.1:7002" };
  const refused = await client.request("POST", path, moved);
  expect(refused.status).toBe(400);
  expect(JSON.parse(refused.body.toString())).toMatchObject({ issues: [{ path: ["tradingServerToken"] }] });
  await client.json("POST", path, { ...moved, tradingServerToken: token }, CreatedServer);
  expect(await sealedTokenOf(3)).not.toEqual(sealed);
});

test("a registration without a token is rejected if another process registers the server at another URL with a token meanwhile", async () => {
  const { organizationId } = await organizationWith(0);
  const { configuration } = serverEntry();
  const keys = configFields.keyring.parse(environment.secrets.tradingServerSealingKeys);
  const serverId = randomUUID();
  const register = (port: number) =>
    client.request("POST", `/internal/organizations/${organizationId}/servers`, {
      serverId,
      configuration,
      tradingServerUrl: `http://127.0.0.1:${port}`,
    });
  const { value: database, stop } = await startPool({
    connectionString: environment.postgresUrl,
    schema: "organization",
    applicationName: "test",
    logger,
  });
  const second = await database.transaction(async (tx) => {
    const token = JSON.stringify(sealPassword(keys, serverId, "the token"));
    await tx.query(REGISTER_WITH_TOKEN, [serverId, organizationId, JSON.stringify(configuration), token]);
    const registering = register(7002);
    await eventually(async () => expect(await database.query(WAITING_FOR_LOCK, [])).toHaveLength(1));
    return { registering };
  });
  const refused = await second.registering;
  expect([refused.status, JSON.parse(refused.body.toString())]).toMatchObject([
    400,
    { issues: [{ path: ["tradingServerToken"] }] },
  ]);
  expect((await register(7001)).status).toBe(201);
  await stop();
});

test("invalid input is rejected with its issues, and an unknown organization with 404", async () => {
  const bad = await client.request("POST", "/internal/organizations", { name: "", credits: -1 });
  expect(bad.status).toBe(400);
  expect(JSON.parse(bad.body.toString())).toMatchObject({ issues: [{ path: ["name"] }, { path: ["credits"] }] });
  const nobody = `/internal/organizations/${randomUUID()}`;
  expect((await client.request("POST", `${nobody}/keys`, { scopes: SCOPES })).status).toBe(404);
  expect((await client.request("POST", `${nobody}/credits`, { credits: 1, purchaseId: randomUUID() })).status).toBe(
    404,
  );
  expect((await client.request("DELETE", "/internal/keys/unknown")).status).toBe(404);
});

test("a billed request is soon in the organization's usage list", async () => {
  const { organizationId, keyId } = await organizationWith(10);
  await call(organizationId, keyId, 3);
  const path = `/internal/organizations/${organizationId}/credits/usage?page=1&limit=1`;
  const expected = { xRequestId: "request", operation: "getCommand", credits: 3, commandId: null };
  const answer = await eventually(async () => {
    const found = await client.json("GET", path, undefined, CreditUsageAnswer);
    expect(found.usage).toHaveLength(1);
    return found;
  });
  expect(answer.usage).toMatchObject([expected]);
  expect(answer.pagination).toEqual({ page: 1, limit: 1, total: 1, totalPages: 1, nextCursor: null });
  expect((await client.request("GET", path.replace("page=1", "page=0"))).status).toBe(400);
});

test("two purchases with the same id add the credits once", async () => {
  const { organizationId, keyId } = await organizationWith(5);
  const purchase = { credits: 20, purchaseId: randomUUID() };
  const path = `/internal/organizations/${organizationId}/credits`;
  expect((await client.request("POST", path, purchase)).status).toBe(200);
  expect((await client.request("POST", path, purchase)).status).toBe(200);
  expect(await walletOf(organizationId, keyId)).toMatchObject({ available: 25, purchased: 25 });
});

test("a Redis that restarts without data has the same wallets again within seconds", async () => {
  const { organizationId, keyId } = await organizationWith(100);
  await call(organizationId, keyId, 30);
  const commandId = randomUUID();
  await admit(redis, {
    callerName: keyId,
    organizationId,
    chargeId: randomUUID(),
    mode: "reserve",
    price: 0,
    readPrice: 1,
    operation: "depositAccountFunds",
    requestId: "request",
    rateLimit: null,
    records: [{ commandId, fingerprint: "print", message: "{}", credits: 5 }],
  });
  commandStatus.open = [{ commandId, organizationId, reservedCredits: 5 }];
  await eventually(() => usageIsEmpty());
  const before = await walletOf(organizationId, keyId);

  await environment.redis.restart({ wipe: true });
  await eventually(async () => {
    expect(await walletOf(organizationId, keyId)).toMatchObject({
      available: 65,
      reserved: 5,
      consumed: 30,
      id: before.id,
    });
  });
  await eventually(() => health.ready().ok);

  commandStatus.open = [];
  await producer.send(TOPICS.commandEvents, {
    key: commandId,
    value: JSON.stringify(finalEvent(organizationId, commandId)),
  });
  await eventually(async () => {
    expect(await walletOf(organizationId, keyId)).toMatchObject({ available: 65, reserved: 0, consumed: 35 });
  });
});

test("the service is not ready while PostgreSQL does not answer", async () => {
  await postgres.blackhole();
  await eventually(() => expect(health.ready().reasons["postgres"]).toContain("does not answer"));
  await postgres.pass();
  await eventually(() => health.ready().ok);
});

async function usageIsEmpty(): Promise<boolean> {
  const keys = await redis.commands.keys("*:usage");
  const lengths = await Promise.all(keys.map((key) => redis.commands.xlen(key)));
  return lengths.every((length) => length === 0);
}

function finalEvent(organizationId: string, commandId: string): CommandEvent {
  return {
    commandId,
    organizationId,
    serverId: randomUUID(),
    accountNumber: null,
    managedAccountId: null,
    operation: "finance.deposit",
    version: 2,
    status: "succeeded",
    attempts: 1,
    result: {},
    errorCode: null,
    errorMessage: null,
    settlement: { chargeId: commandId, credits: 5, action: "consume" },
    occurredAt: toIso(systemClock.nowMs()),
  };
}

test("an organization has at most 100 usable keys, also with concurrent creations; a revoked key no longer counts", async () => {
  const { organizationId } = await client.json(
    "POST",
    "/internal/organizations",
    { name: "Test", credits: 0 },
    Created,
  );
  const keys = `/internal/organizations/${organizationId}/keys`;
  const make = async () => {
    const { status, body } = await client.request("POST", keys, { scopes: ["credits:read"] });
    return { status, body: JSON.parse(body.toString()) as unknown };
  };
  const made = await Promise.all(Array.from({ length: 101 }, () => make()));
  expect(made.filter(({ status }) => status === 201)).toHaveLength(100);
  expect(made.find(({ status }) => status !== 201)).toMatchObject({
    status: 400,
    body: {
      issues: [{ path: [], code: "too_many_keys", message: expect.stringContaining("at most 100 keys") as string }],
    },
  });
  const Keys = z.object({ keys: z.array(CreatedKey.pick({ keyId: true })) });
  const [first] = (await client.json("GET", keys, undefined, Keys)).keys;
  expect((await client.request("DELETE", `/internal/keys/${first?.keyId}`)).status).toBe(200);
  expect((await make()).status).toBe(201);
  expect((await make()).status).toBe(400);
});
