/**
 * A change of a key takes effect within two seconds (decisions, 12), at every gateway and on every
 * open live socket of every process. The tests print the measured times.
 */
import { createHash } from "node:crypto";

import { directoryKey, type KeyEntry, SCOPES, type Scope, TOPICS } from "@kapi/contracts";
import { createKafka, startProducer, type Producer } from "@kapi/kafka";
import { createOrganization, type ReadyOrganization } from "@kapi/local";
import { createLogger, type Started } from "@kapi/runtime";
import { startTestStack, type TestStack } from "@kapi/local/test-stack";
import { eventually } from "@kapi/testkit";
import { afterAll, beforeAll, expect, it } from "vitest";

import { type LiveClient, OutsideClient, pause } from "./outside-client.ts";

const DEADLINE_MS = 2_000;
/** Lifetime of an expiring key: long enough for every process to know the key. */
const LIFE_MS = 6_000;
const POLL_MS = 10;
const KEY_REVOKED = 4401;

let stack: TestStack;
let organization: ReadyOrganization;
let producer: Started<Producer>;
let account: string;

beforeAll(async () => {
  const env = { all: { KAFKA_SESSION_TIMEOUT_MS: "6000", QUOTES_FILE: "" } };
  stack = await startTestStack({ twice: ["gateway", "metrics"], env });
  organization = await createOrganization(stack, { name: "Keys", credits: 1_000_000 });
  const { kafkaBrokers } = stack.servers;
  const logger = createLogger({ service: "test", level: "error" });
  const { topicPrefix } = stack;
  const kafka = createKafka({ brokers: kafkaBrokers.split(","), clientId: "test", topicPrefix, logger });
  producer = await startProducer(kafka);
  const owner = everywhere(organization.managementKey)[0];
  await eventually(async () => (await owner.call("GET", "/credits/balance")).status === 200, { timeoutMs: 20_000 });
  account = await owner.openAccount();
});

afterAll(async () => {
  await producer.stop();
  await stack.stop();
});

/**
 * One client with this key for each gateway. Each client uses a different process of the live
 * stream.
 */
function everywhere(managementKey: string): readonly [OutsideClient, OutsideClient] {
  const { tradingServerUrl } = stack;
  const at = (baseUrl: string, wsBase: string): OutsideClient =>
    new OutsideClient({ ...organization, managementKey, baseUrl, wsBase, tradingServerUrl });
  return [at(stack.baseUrl, stack.liveUrl("metrics")), at(stack.process("gateway-2").url, stack.liveUrl("metrics-2"))];
}

interface MadeKey {
  readonly keyId: string;
  readonly managementKey: string;
  readonly expiresAt: string | null;
  readonly clients: readonly [OutsideClient, OutsideClient];
  /** One open socket at each process of the live stream. */
  readonly sockets: readonly LiveClient[];
}

async function operator(method: string, path: string, body?: object): Promise<unknown> {
  const response = await fetch(`${stack.url("organization")}/internal${path}`, {
    method,
    headers: { "content-type": "application/json", "x-service-token": stack.secrets.serviceTokens.operator },
    body: body === undefined ? null : JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`${method} ${path} answered ${response.status} ${await response.text()}`);
  return response.json();
}

/**
 * Creates a key with all scopes. Waits until every process knows the key, and each socket of the
 * key has a subscription.
 */
async function usedKey(expiresAt: string | null = null): Promise<MadeKey> {
  const path = `/organizations/${organization.organizationId}/keys`;
  const { keyId, managementKey } = (await operator("POST", path, { scopes: SCOPES, expiresAt })) as MadeKey;
  const clients = everywhere(managementKey);
  const sockets = await Promise.all(
    clients.map(async (client) => {
      await eventually(async () => (await client.call("GET", client.server("/configuration"))).status === 200);
      return eventually(() => client.live());
    }),
  );
  for (const socket of sockets) {
    expect((await socket.next()).type).toBe("connected");
    socket.send({ type: "subscribe", serverId: organization.serverId, accountNumber: account });
    expect((await socket.next()).type).toBe("account.metrics");
  }
  return { keyId, managementKey, expiresAt, clients, sockets };
}

/** Publishes a newer directory entry of the key with `change` applied. */
async function changeKey(key: MadeKey, change: Partial<KeyEntry>): Promise<void> {
  const entry: KeyEntry = {
    kind: "key",
    version: 2,
    keyId: key.keyId,
    organizationId: organization.organizationId,
    secretHash: createHash("sha256")
      .update(key.managementKey.split(".")[2] ?? "")
      .digest("hex"),
    scopes: [...SCOPES],
    serverIds: null,
    expiresAt: null,
    status: "active",
    rateLimit: null,
    ...change,
  };
  await producer.value.send(TOPICS.organizationDirectory, { key: directoryKey(entry), value: JSON.stringify(entry) });
}

async function status(client: OutsideClient): Promise<number> {
  return (await client.call("GET", client.server("/configuration"))).status;
}

/**
 * Milliseconds from `sinceMs` until each gateway answers `wanted`; Infinity for a gateway that
 * gives only other answers for five times the deadline.
 */
function gatewaysAnswer(key: MadeKey, wanted: number, sinceMs: number): Promise<number[]> {
  return Promise.all(
    key.clients.map(async (client) => {
      while ((await status(client)) !== wanted) {
        if (Date.now() - sinceMs > 5 * DEADLINE_MS) return Infinity;
        await pause(POLL_MS);
      }
      return Date.now() - sinceMs;
    }),
  );
}

/** Milliseconds from `sinceMs` until each socket was closed with the code of an invalid key. */
function socketsClose(closings: readonly Promise<number>[], sinceMs: number): Promise<number[]> {
  return Promise.all(
    closings.map(async (closing) => {
      expect(await closing).toBe(KEY_REVOKED);
      return Date.now() - sinceMs;
    }),
  );
}

/**
 * Requests of a key may be rejected up to this time before the expiry of the key. Timers use the
 * monotonic clock, but the expiry is a time of day.
 */
const MAX_EARLY_MS = 50;

function expectInTime(what: string, gateways: readonly number[], sockets: readonly number[]): void {
  const took = `gateways after ${gateways.join(" and ")} ms, live sockets after ${sockets.join(" and ")} ms`;
  process.stdout.write(`  ${what}: ${took}\n`);
  for (const tookMs of [...gateways, ...sockets]) expect(tookMs).toBeLessThanOrEqual(DEADLINE_MS);
}

it("within two seconds, a revoked key is 401 at both gateways, and its sockets at both streams are closed", async () => {
  const key = await usedKey();
  const closings = key.sockets.map((socket) => socket.closed());
  const sinceMs = Date.now();
  const revoked = operator("DELETE", `/keys/${key.keyId}`);
  const gateways = gatewaysAnswer(key, 401, sinceMs);
  const sockets = socketsClose(closings, sinceMs);
  await revoked;
  expectInTime("revoked", await gateways, await sockets);
  for (const client of key.clients) await expect(client.live()).rejects.toThrow("401");
});

it("within two seconds after its expiry, a key is 401 at both gateways, and its sockets at both streams are closed", async () => {
  const endsMs = Date.now() + LIFE_MS;
  const key = await usedKey(new Date(endsMs).toISOString());
  const closings = key.sockets.map((socket) => socket.closed());
  expect(Date.now()).toBeLessThan(endsMs);
  const [gateways, sockets] = await Promise.all([gatewaysAnswer(key, 401, endsMs), socketsClose(closings, endsMs)]);
  for (const tookMs of [...gateways, ...sockets]) expect(tookMs).toBeGreaterThanOrEqual(-MAX_EARLY_MS);
  expectInTime("expired", gateways, sockets);
});

it("within two seconds, a key that keeps only credits:read is 403 at both gateways, and its sockets at both streams are closed", async () => {
  const key = await usedKey();
  const closings = key.sockets.map((socket) => socket.closed());
  const sinceMs = Date.now();
  const left: Scope[] = ["credits:read"];
  await changeKey(key, { scopes: left });
  const [gateways, sockets] = await Promise.all([gatewaysAnswer(key, 403, sinceMs), socketsClose(closings, sinceMs)]);
  expectInTime("scopes taken away", gateways, sockets);
});

it("within two seconds, a key that loses a server is 403 for this server at both gateways, and its subscriptions at both streams end", async () => {
  const key = await usedKey();
  const sinceMs = Date.now();
  await changeKey(key, { serverIds: [] });
  const denied = Promise.all(
    key.sockets.map(async (socket) => {
      for (;;) {
        const message = await socket.next();
        if (message.type === "account.metrics") continue;
        expect(message).toMatchObject({ type: "error", code: "SERVER_ACCESS_DENIED", accountNumber: account });
        return Date.now() - sinceMs;
      }
    }),
  );
  const [gateways, sockets] = await Promise.all([gatewaysAnswer(key, 403, sinceMs), denied]);
  expectInTime("server taken away", gateways, sockets);
  for (const socket of key.sockets) socket.close();
});
