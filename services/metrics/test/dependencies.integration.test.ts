import { accountKey, TOPICS } from "@kapi/contracts";
import { eventually } from "@kapi/testkit";
import { afterAll, beforeAll, expect, it } from "vitest";

import { LiveClient } from "./live-client.ts";
import { RawClient } from "./raw-client.ts";
import { type MetricsProcess, World } from "./world.ts";

const BACK_MS = 20_000;

let world: World;
let metrics: MetricsProcess;
const clients: (LiveClient | RawClient)[] = [];

beforeAll(async () => {
  world = await World.start();
  metrics = await world.metrics();
});

afterAll(async () => {
  for (const client of clients) client.close();
  await world.scope.stop();
});

async function connect(): Promise<LiveClient> {
  const client = await LiveClient.connect(metrics.wsUrl, world.managementKey);
  clients.push(client);
  return client;
}

/** A new account on a partition that is, or is not, this one. */
function accountOn(partition: number, same: boolean): string {
  for (;;) {
    const account = world.account();
    const key = accountKey(world.serverId, account);
    if ((world.producer.partitionOf(TOPICS.tradingValuations, key) === partition) === same) return account;
  }
}

it("while the account service is away, accounts that nobody asked for yet wait; all others go on", async () => {
  const known = world.account();
  const partition = world.producer.partitionOf(TOPICS.tradingValuations, accountKey(world.serverId, known));
  const [valued, subscribed] = [accountOn(partition, false), world.account()];
  const client = await connect();
  client.subscribe(world.serverId, known, 0);
  await world.value(known, [100]);
  await client.until(() => client.last(known) === 1);

  await world.stopAccountService();
  await world.value(valued, [100]);
  client.subscribe(world.serverId, subscribed, 0);
  client.subscribe(world.serverId, known, 0);
  await world.value(known, [200]);
  await client.until(() => client.sequences(known).join() === "1,1,2");
  const other = await connect();
  other.subscribe(world.serverId, known);
  await other.until(() => other.last(known) === 2);
  expect(client.frames("account.metrics.replay").map(({ accountNumber }) => accountNumber)).toEqual([known, known]);
  expect(await world.samplesOf(valued)).toEqual([]);

  await world.startAccountService();
  client.subscribe(world.serverId, valued, 0);
  await world.value(subscribed, [300]);
  await client.until(() => client.last(valued) === 1 && client.last(subscribed) === 1);
  expect(client.frames("error")).toEqual([]);
  const refused = (await world.readAll(TOPICS.deadLetter)).map(({ message }) => message.key);
  expect(refused).toEqual([]);
});

it("while Redis is away nobody new is let in, and is told to come again; whoever is in goes on", async () => {
  const [before, meanwhile] = [world.account(), world.account()];
  const client = await connect();
  client.subscribe(world.serverId, before, 0);
  await world.value(before, [100]);
  await client.until(() => client.last(before) === 1);

  await world.environment.redis.crash();
  const { client: refused, answer } = await RawClient.handshake(metrics.wsUrl, world.managementKey);
  clients.push(refused);
  expect(answer).toMatchObject({
    status: 500,
    headers: { "x-error-code": "DEPENDENCY_UNAVAILABLE", "retry-after": "1" },
    body: { error: "Internal server error" },
  });
  await eventually(async () => expect((await fetch(`${metrics.url}/readyz`)).ok).toBe(false), { timeoutMs: BACK_MS });
  expect((await fetch(`${metrics.url}/livez`)).ok).toBe(true);
  client.subscribe(world.serverId, meanwhile, 0);
  for (const account of [before, meanwhile]) await world.value(account, [200]);
  await client.until(() => client.last(before) === 2 && client.last(meanwhile) === 1);

  await world.environment.redis.restart();
  await eventually(() => world.buy(world.organizationId, 10), { timeoutMs: BACK_MS });
  const back = await eventually(() => connect(), { timeoutMs: BACK_MS });
  back.subscribe(world.serverId, before);
  await back.until(() => back.last(before) === 2);
  await eventually(async () => expect((await fetch(`${metrics.url}/readyz`)).ok).toBe(true), { timeoutMs: BACK_MS });
});
