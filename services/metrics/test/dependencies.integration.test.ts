import { once } from "node:events";
import { connect as connectTo, createServer, type AddressInfo, type Socket } from "node:net";

import { AccountMetricsAnswer, accountKey, TOPICS } from "@kapi/contracts";
import { eventually } from "@kapi/testkit";
import { afterAll, beforeAll, expect, it } from "vitest";

import { LiveClient } from "./live-client.ts";
import { RawClient } from "./raw-client.ts";
import { type MetricsProcess, Harness } from "./harness.ts";

const RECOVERY_TIMEOUT_MS = 20_000;
const MINUTE_MS = 60_000;

let harness: Harness;
let metrics: MetricsProcess;
let database: RestartableProxy;
const clients: (LiveClient | RawClient)[] = [];

beforeAll(async () => {
  harness = await Harness.start();
  const url = new URL(harness.environment.postgresUrl);
  database = new RestartableProxy(url.hostname, Number(url.port));
  url.host = `127.0.0.1:${await database.open()}`;
  metrics = await harness.metrics({ POSTGRES_URL: url.toString() });
});

afterAll(async () => {
  for (const client of clients) client.close();
  await harness.scope.stop();
  await database.close();
});

/**
 * A TCP proxy to a server. When the proxy is closed, nothing listens at its address, and its
 * connections are destroyed.
 */
class RestartableProxy {
  readonly #target: { readonly host: string; readonly port: number };
  readonly #sockets = new Set<Socket>();
  readonly #server = createServer((near) => {
    const far = connectTo(this.#target);
    for (const [socket, other] of [
      [near, far],
      [far, near],
    ] as const) {
      this.#sockets.add(socket);
      socket.pipe(other);
      socket.on("error", () => undefined);
      socket.on("close", () => {
        this.#sockets.delete(socket);
        other.destroy();
      });
    }
  });
  #port = 0;

  constructor(host: string, port: number) {
    this.#target = { host, port };
  }

  /** Opens the proxy: the first time on any free port, then on the same port. */
  async open(): Promise<number> {
    this.#server.listen(this.#port, "127.0.0.1");
    await once(this.#server, "listening");
    this.#port = (this.#server.address() as AddressInfo).port;
    return this.#port;
  }

  async close(): Promise<void> {
    const closed = once(this.#server, "close");
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }
}

async function connect(): Promise<LiveClient> {
  const client = await LiveClient.connect(metrics.wsUrl, harness.managementKey);
  clients.push(client);
  return client;
}

/** A new account on this partition. */
function accountOn(partition: number): string {
  for (;;) {
    const account = harness.account();
    const key = accountKey(harness.serverId, account);
    if (harness.producer.partitionOf(TOPICS.tradingValuations, key) === partition) return account;
  }
}

it("while the account service is unavailable, accounts without samples are parked, and other accounts continue", async () => {
  const known = harness.account();
  const partition = harness.producer.partitionOf(TOPICS.tradingValuations, accountKey(harness.serverId, known));
  const [valued, subscribed] = [accountOn(partition), harness.account()];
  const client = await connect();
  client.subscribe(harness.serverId, known, 0);
  await harness.value(known, [100]);
  await client.until(() => client.last(known) === 1);

  await harness.stopAccountService();
  await harness.value(valued, [500, 100, 300]);
  client.subscribe(harness.serverId, subscribed, 0);
  client.subscribe(harness.serverId, known, 0);
  await harness.value(known, [200]);
  await client.until(() => client.sequences(known).join() === "1,1,2");
  const other = await connect();
  other.subscribe(harness.serverId, known);
  await other.until(() => other.last(known) === 2);
  expect(client.frames("account.metrics.replay").map(({ accountNumber }) => accountNumber)).toEqual([known, known]);
  expect(await harness.samplesOf(valued)).toEqual([]);

  await harness.startAccountService();
  client.subscribe(harness.serverId, valued, 0);
  await harness.value(subscribed, [300]);
  await client.until(() => client.last(valued) === 3 && client.last(subscribed) === 1);
  expect(client.samples(valued).map(({ equity }) => equity)).toEqual([5, 1, 3]);
  expect(client.frames("error")).toEqual([]);
  const deadLetters = (await harness.readAll(TOPICS.deadLetter)).map(({ message }) => message.key);
  expect(deadLetters).toEqual([]);
});

it("while Redis is unavailable, handshakes are rejected with Retry-After, and open sockets continue", async () => {
  const [before, meanwhile] = [harness.account(), harness.account()];
  const client = await connect();
  client.subscribe(harness.serverId, before, 0);
  await harness.value(before, [100]);
  await client.until(() => client.last(before) === 1);

  await harness.environment.redis.crash();
  const { client: rejected, answer } = await RawClient.handshake(metrics.wsUrl, harness.managementKey);
  clients.push(rejected);
  expect(answer).toMatchObject({
    status: 500,
    headers: { "x-error-code": "DEPENDENCY_UNAVAILABLE", "retry-after": "1" },
    body: { error: "Internal server error" },
  });
  await eventually(async () => expect((await fetch(`${metrics.url}/readyz`)).ok).toBe(false), {
    timeoutMs: RECOVERY_TIMEOUT_MS,
  });
  expect((await fetch(`${metrics.url}/livez`)).ok).toBe(true);
  client.subscribe(harness.serverId, meanwhile, 0);
  for (const account of [before, meanwhile]) await harness.value(account, [200]);
  await client.until(() => client.last(before) === 2 && client.last(meanwhile) === 1);

  await harness.environment.redis.restart();
  await eventually(() => harness.buy(harness.organizationId, 10), { timeoutMs: RECOVERY_TIMEOUT_MS });
  const back = await eventually(() => connect(), { timeoutMs: RECOVERY_TIMEOUT_MS });
  back.subscribe(harness.serverId, before);
  await back.until(() => back.last(before) === 2);
  await eventually(async () => expect((await fetch(`${metrics.url}/readyz`)).ok).toBe(true), {
    timeoutMs: RECOVERY_TIMEOUT_MS,
  });
});

it("while PostgreSQL is unavailable, the live stream continues; snapshots are stored afterwards", async () => {
  const [before, meanwhile] = [harness.account(), harness.account()];
  const pastMs = Math.floor(Date.now() / MINUTE_MS) * MINUTE_MS - 10 * MINUTE_MS;
  const client = await connect();
  for (const account of [before, meanwhile]) client.subscribe(harness.serverId, account, 0);
  const valueAt = (account: string, minute: number): Promise<void> =>
    harness.value(account, [minute * 100], { measuredAt: new Date(pastMs + minute * MINUTE_MS).toISOString() });
  const path = `${metrics.url}/internal/servers/${harness.serverId}`;
  const { gateway, account: owner } = harness.environment.secrets.serviceTokens;
  const list = (account: string): Promise<Response> => {
    const query = new URLSearchParams({ organizationId: harness.organizationId, accountNumber: account }).toString();
    return fetch(`${path}/account-metrics?${query}`, { headers: { "x-service-token": gateway } });
  };
  const stored = async (account: string): Promise<number[]> =>
    AccountMetricsAnswer.parse(await (await list(account)).json()).snapshots.map(({ equity }) => equity);
  await valueAt(before, 1);
  await eventually(async () => expect(await stored(before)).toEqual([1]), { timeoutMs: RECOVERY_TIMEOUT_MS });

  await database.close();
  for (const minute of [2, 3]) for (const account of [before, meanwhile]) await valueAt(account, minute);
  await client.until(() => client.last(before) === 3 && client.last(meanwhile) === 2);
  expect((await list(before)).status).toBe(500);
  expect(
    (await fetch(`${path}/accounts/${before}`, { method: "DELETE", headers: { "x-service-token": owner } })).status,
  ).toBe(500);
  expect((await fetch(`${metrics.url}/livez`)).ok).toBe(true);

  await database.open();
  for (const minute of [4, 5]) await valueAt(meanwhile, minute);
  await eventually(async () => expect(await stored(meanwhile)).toEqual([5, 4, 3, 2]), {
    timeoutMs: RECOVERY_TIMEOUT_MS,
  });
  await eventually(async () => expect(await stored(before)).toEqual([3, 2, 1]), { timeoutMs: RECOVERY_TIMEOUT_MS });
  expect(client.closeCode).toBeNull();
});
