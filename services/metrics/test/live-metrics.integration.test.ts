import { randomUUID } from "node:crypto";

import { AccountMetricsFrame, accountKey, TOPICS } from "@kapi/contracts";
import { uuidV5 } from "@kapi/kernel";
import { eventually, keyEntry, serverEntry } from "@kapi/testkit";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { LiveClient } from "./live-client.ts";
import { type MetricsProcess, Harness } from "./harness.ts";

let harness: Harness;
let metrics: MetricsProcess;
const clients: LiveClient[] = [];

beforeAll(async () => {
  harness = await Harness.start();
  metrics = await harness.metrics();
});

afterAll(async () => {
  for (const client of clients) client.close();
  await harness.scope.stop();
});

async function connect(managementKey = harness.managementKey): Promise<LiveClient> {
  const client = await LiveClient.connect(metrics.wsUrl, managementKey);
  clients.push(client);
  return client;
}

function range(first: number, last: number): number[] {
  return Array.from({ length: last - first + 1 }, (_, index) => first + index);
}

describe("a valuation", () => {
  it("reaches the client as a sample with the next sequence, values in currency units and the interval's minimum", async () => {
    const account = harness.account();
    const client = await connect();
    client.subscribe(harness.serverId, account);
    await harness.value(account, [100_050, 99_000]);
    await client.until(() => client.samples(account).length === 2);
    const [first, second] = client.samples(account).map((sample) => AccountMetricsFrame.parse(sample));
    expect(first).toMatchObject({ sequence: 1, balance: 1_000, equity: 1_000.5, intervalMinimumEquity: 1_000.5 });
    expect(second).toMatchObject({ sequence: 2, equity: 990, marginLevel: 0, openPositionCount: 0 });
    expect(first?.eventId).toBe(uuidV5(harness.serverId, `${account}/metrics/1`));
  });

  it("is in the log with the next sequence, on the account's partition, with the same bytes as the client got", async () => {
    const account = harness.account();
    const client = await connect();
    client.subscribe(harness.serverId, account, 0);
    await harness.value(account, range(90_001, 90_060));
    await client.until(() => client.samples(account).length === 60);
    const logged = await harness.samplesOf(account);
    expect(logged.map(({ message }) => Number(message.headers["sequence"]))).toEqual(range(1, 60));
    const partition = harness.producer.partitionOf(TOPICS.tradingValuations, accountKey(harness.serverId, account));
    expect(new Set(logged.map((one) => one.partition))).toEqual(new Set([partition]));
    const sent = client.texts.filter((text) => text.includes('"type":"account.metrics"'));
    expect(sent).toEqual(logged.map(({ message }) => message.value.toString()));
    for (const [index, { message }] of logged.entries()) {
      expect(message.headers["from"]).toBe(index === 0 ? "-1" : logged[index - 1]?.message.headers["to"]);
    }
  });

  it("is sent to every subscriber, and to no client that has unsubscribed", async () => {
    const account = harness.account();
    const [staying, leaving] = [await connect(), await connect()];
    for (const client of [staying, leaving]) client.subscribe(harness.serverId, account, 0);
    await harness.value(account, [1]);
    await staying.until(() => staying.sequences(account).length === 1);
    await leaving.until(() => leaving.sequences(account).length === 1);
    leaving.send({ type: "unsubscribe", serverId: harness.serverId, accountNumber: account });
    leaving.send("ping");
    await leaving.until(() => leaving.texts.includes("pong"));
    await harness.value(account, [2, 3]);
    await staying.until(() => staying.sequences(account).length === 3);
    expect(leaving.sequences(account)).toEqual([1]);
  });
});

describe("a client that reconnects", () => {
  it("gets the latest sample at once if it sends no afterSequence", async () => {
    const account = harness.account();
    await harness.value(account, [1, 2, 3]);
    await eventually(async () => expect(await harness.samplesOf(account)).toHaveLength(3));
    const client = await connect();
    client.subscribe(harness.serverId, account);
    await client.until(() => client.sequences(account).length > 0);
    expect(client.sequences(account)).toEqual([3]);
    expect(client.frames("account.metrics.replay")).toEqual([]);
  });

  it("gets a notice and every sample above afterSequence, then the live samples, without a gap or a repeat", async () => {
    const account = harness.account();
    const first = await connect();
    first.subscribe(harness.serverId, account, 0);
    await harness.value(account, range(1, 5));
    await first.until(() => first.sequences(account).length === 5);
    first.close();
    await harness.value(account, range(6, 20));
    const second = await connect();
    second.subscribe(harness.serverId, account, 5);
    await harness.value(account, range(21, 30));
    await second.until(() => second.last(account) === 30);
    expect(second.sequences(account)).toEqual(range(6, 30));
    const [notice] = second.frames("account.metrics.replay");
    expect(notice).toMatchObject({ firstAvailableSequence: 1, replayTruncated: false, accountNumber: account });
  });

  it("gets a notice of a truncated replay if afterSequence is above the last sample", async () => {
    const account = harness.account();
    const client = await connect();
    client.subscribe(harness.serverId, account, 7);
    await client.until(() => client.frames("account.metrics.replay").length === 1);
    expect(client.frames("account.metrics.replay")[0]).toMatchObject({
      firstAvailableSequence: 1,
      lastAvailableSequence: 0,
      replayTruncated: true,
      replayCount: 0,
    });
    await harness.value(account, [1]);
    await client.until(() => client.sequences(account).length === 1);
  });

  it("gets only the last 300 samples, with a notice of a truncated replay", async () => {
    const account = harness.account();
    await harness.value(account, range(1, 450));
    // The log may have a sample before the process has applied it, so wait until another client
    // has the sample.
    const other = await connect();
    other.subscribe(harness.serverId, account);
    await other.until(() => other.last(account) === 450);
    const client = await connect();
    client.subscribe(harness.serverId, account, 10);
    await client.until(() => client.sequences(account).length === 300);
    expect(client.sequences(account)).toEqual(range(151, 450));
    const notice = { firstAvailableSequence: 151, lastAvailableSequence: 450, replayTruncated: true, replayCount: 300 };
    expect(client.frames("account.metrics.replay")[0]).toMatchObject(notice);
  });
});

describe("a connection", () => {
  it("is closed with 4401 within two seconds when the key is revoked", async () => {
    const key = keyEntry({ organizationId: harness.organizationId });
    await harness.putDirectory(key.entry);
    const client = await eventually(() => connect(key.managementKey));
    await harness.putDirectory({ ...key.entry, version: 2, status: "revoked" });
    const revokedMs = Date.now();
    await client.until(() => client.closeCode !== null);
    expect(client.closeCode).toBe(4401);
    expect(Date.now() - revokedMs).toBeLessThan(2_000);
  });

  it("loses only the subscription of an account that is deleted, and the account is no longer found", async () => {
    const account = harness.account();
    const client = await connect();
    client.subscribe(harness.serverId, account, 0);
    await harness.value(account, [1]);
    await client.until(() => client.sequences(account).length === 1);
    const event = {
      type: "account.deleted",
      eventId: randomUUID(),
      organizationId: harness.organizationId,
      serverId: harness.serverId,
      accountNumber: account,
      occurredAt: new Date().toISOString(),
      accountSequence: 2,
      accountId: randomUUID(),
      version: 2,
      accountName: "Gone",
      status: "deleting",
      leverage: 100,
    };
    const key = accountKey(harness.serverId, account);
    await harness.producer.send(TOPICS.accountEvents, { key, value: JSON.stringify(event) });
    await client.until(() => client.frames("account.deleted").length === 1);
    client.subscribe(harness.serverId, account, 0);
    await client.until(() => client.frames("error").length === 1);
    expect(client.frames("error")[0]).toMatchObject({ code: "ACCOUNT_NOT_FOUND" });
  });

  it("gets an error when the server of its subscription is removed", async () => {
    const server = serverEntry({ organizationId: harness.organizationId });
    await harness.putDirectory(server);
    harness.accounts.add(accountKey(server.serverId, "account-1"));
    const client = await connect();
    await eventually(async () => {
      const errors = client.frames("error").length;
      client.subscribe(server.serverId, "account-1", 0);
      // The subscription is rejected until the process has read the server from the directory.
      await client.until(
        () => client.frames("account.metrics.replay").length > 0 || client.frames("error").length > errors,
      );
      return client.frames("account.metrics.replay").length > 0;
    });
    const before = client.frames("error").length;
    await harness.putDirectory({ ...server, version: 2, status: "removed" });
    await client.until(() => client.frames("error").length > before);
    expect(client.frames("error").at(-1)).toMatchObject({ code: "SERVER_ACCESS_DENIED" });
  });
});

describe("the route for the newest samples", () => {
  it("returns samples in the order of the request, null for an account without samples, and rejects a wrong token and the gateway's token", async () => {
    const account = harness.account();
    await harness.value(account, [4_200]);
    await eventually(async () => expect(await harness.samplesOf(account)).toHaveLength(1));
    const { serverId } = harness;
    const ask = (token: string, body: object) =>
      fetch(`${metrics.url}/internal/samples/latest`, {
        method: "POST",
        headers: { "content-type": "application/json", "x-service-token": token },
        body: JSON.stringify(body),
      });
    const ofOneServer = { serverId, accountNumbers: ["nobody", account] };
    const ofSeveral = { accounts: ["nobody", account].map((accountNumber) => ({ serverId, accountNumber })) };
    for (const token of ["wrong", harness.environment.secrets.serviceTokens.gateway])
      expect((await ask(token, ofOneServer)).status).toBe(401);
    for (const body of [ofOneServer, ofSeveral]) {
      await eventually(async () => {
        const answer = await ask(harness.environment.secrets.serviceTokens.account, body);
        const { samples } = (await answer.json()) as { samples: unknown[] };
        expect(samples).toMatchObject([null, { sequence: 1, equity: 42 }]);
      });
    }
  });
});
