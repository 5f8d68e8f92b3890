/**
 * The gateway publishes to `api.requests` each answered request of an organization, or counts it as
 * omitted. A killed gateway can lose requests that it has not published yet. This request log never
 * delays or fails a request.
 */
import { randomUUID } from "node:crypto";

import { LoggedRequests, TOPICS } from "@kapi/contracts";
import { startLogReader } from "@kapi/kafka";
import { createLogger, type Started } from "@kapi/runtime";
import { eventually, keyEntry, type TcpProxy } from "@kapi/testkit";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { call, create } from "./client.ts";
import { proxyOfKafka } from "./kafka-proxy.ts";
import { type Organization, type Platform, startPlatform } from "./platform.ts";

/** Requests are answered within this time, also without Kafka. */
const ANSWER_WITHIN_MS = 1_000;

let platform: Platform;
let organization: Organization;
let kafka: TcpProxy;
let stopKafkaProxy: () => Promise<void>;
let reader: Started<unknown>;
const records: LoggedRequests[] = [];

beforeAll(async () => {
  platform = await startPlatform();
  organization = await platform.organization(100_000);
  ({ proxy: kafka, stop: stopKafkaProxy } = await proxyOfKafka(platform.environment.kafkaBrokers));
  reader = await startLogReader(platform.kafka, {
    topic: TOPICS.apiRequests,
    from: "beginning",
    onBatch: (_partition, messages) => {
      for (const message of messages) records.push(LoggedRequests.parse(JSON.parse(message.value.toString())));
    },
    logger: createLogger({ service: "test", level: "error" }),
    fatal: (error) => {
      throw error;
    },
  });
});
afterAll(async () => {
  await reader.stop();
  await platform.stop();
  await stopKafkaProxy();
});

const logged = (requestId: string) =>
  records.flatMap(({ requests }) => requests).filter((request) => request.requestId === requestId);
const omitted = (): number =>
  records.flatMap((record) => record.omitted).reduce((sum, { reads, others }) => sum + reads + others, 0);

/** Sends a request with a new request id; returns the id. */
async function send(path: string, url = platform.url, sender: Partial<Organization> = {}): Promise<string> {
  const requestId = randomUUID();
  await call(url, { ...organization, ...sender }, path, { headers: { "x-request-id": requestId } });
  return requestId;
}

describe("a request", () => {
  it("is in the log within seconds, with its operation, key, status, credits and time, and without its query string", async () => {
    const { serverId } = organization.server;
    const beforeMs = Date.now();
    const requestId = await send(`servers/${serverId}/accounts?search=secret-text`);
    await eventually(() => expect(logged(requestId)).toHaveLength(1), { timeoutMs: 5_000 });
    const [entry] = logged(requestId);
    expect(entry).toMatchObject({
      operation: "listTradingAccounts",
      method: "GET",
      serverId,
      accountNumber: null,
      status: 200,
      errorCode: null,
      creditsCharged: 1,
      actor: { type: "key", id: organization.key.keyId },
      address: "127.0.0.1",
    });
    expect(JSON.stringify(records)).not.toContain("secret-text");
    expect(JSON.stringify(records)).not.toContain(organization.managementKey.slice(-20));
    expect(Math.abs(Number.parseInt((entry?.id ?? "").replace("-", "").slice(0, 12), 16) - beforeMs)).toBeLessThan(
      5_000,
    );
  });

  it("that is rejected for missing credits or a missing scope is logged with its error code", async () => {
    const poor = await platform.organization(0);
    const refused = await send("credits/balance", platform.url, poor);
    const limited = await platform.organization(100, { scopes: ["credits:read"] });
    const forbidden = await send(`servers/${limited.server.serverId}/accounts`, platform.url, limited);
    await eventually(() => expect([...logged(refused), ...logged(forbidden)]).toHaveLength(2), { timeoutMs: 5_000 });
    expect(logged(refused)).toMatchObject([{ status: 402, errorCode: "INSUFFICIENT_CREDITS", creditsCharged: 0 }]);
    expect(logged(forbidden)).toMatchObject([{ status: 403, errorCode: "MISSING_SCOPE" }]);
  });

  it("that queues a command is logged with the id of the command", async () => {
    const key = randomUUID();
    const { body } = await create(platform.url, organization, key);
    await eventually(
      () => expect(records.flatMap((record) => record.requests.map((one) => one.commandId))).toContain(body.command.id),
      { timeoutMs: 5_000 },
    );
  });

  it("with an unknown key is not logged", async () => {
    const unknown = await send("credits/balance", platform.url, {
      managementKey: `kapi.${"a".repeat(16)}.${"b".repeat(43)}`,
    });
    const known = await send("credits/balance");
    await eventually(() => expect(logged(known)).toHaveLength(1), { timeoutMs: 5_000 });
    expect(logged(unknown)).toEqual([]);
  });

  it("from a network that the key does not allow is answered like a request without a key, and is in the log", async () => {
    const { entry, managementKey } = keyEntry({
      organizationId: organization.id,
      allowedNetworks: ["198.51.100.0/24"],
    });
    await platform.publish(entry);
    const behindProxy = await platform.gateway({ TRUSTED_PROXIES: "127.0.0.1" });
    const from = (address: string, url: string) =>
      call(url, organization, "credits/balance", { managementKey, headers: { "x-forwarded-for": address } });
    await eventually(async () => expect((await from("198.51.100.9", behindProxy)).status).toBe(200));
    const unknown = await call(behindProxy, organization, "credits/balance", { managementKey: null });
    for (const answer of [await from("203.0.113.9", behindProxy), await from("198.51.100.9", platform.url)]) {
      expect(answer).toMatchObject({ status: 401, charged: 0, body: { error: unknown.body.error } });
      expect(answer.headers.has("x-credits-remaining")).toBe(false);
    }
    await eventually(() => {
      const ofKey = records.flatMap(({ requests }) => requests).filter(({ actor }) => actor.id === entry.keyId);
      expect(ofKey.filter(({ status }) => status === 401).map(({ address }) => address)).toEqual(
        expect.arrayContaining(["203.0.113.9", "127.0.0.1"]),
      );
    });
  });

  it("is answered within 1 s while Kafka is unavailable, and later logged or counted as omitted", async () => {
    const child = await platform.gatewayProcess({ KAFKA_BROKERS: kafka.address });
    const before = await send("credits/balance", child.url);
    await eventually(() => expect(logged(before)).toHaveLength(1), { timeoutMs: 5_000 });
    await kafka.refuse();
    const startedMs = performance.now();
    const meanwhile = await send("credits/balance", child.url);
    expect(performance.now() - startedMs).toBeLessThan(ANSWER_WITHIN_MS);
    await kafka.pass();
    await child.stop();
    await eventually(() => expect(logged(meanwhile).length + omitted()).toBe(1), { timeoutMs: 20_000 });
  });
});
