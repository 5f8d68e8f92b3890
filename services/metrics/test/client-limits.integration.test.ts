import { AccountMetricsFrame } from "@kapi/contracts";
import { eventually } from "@kapi/testkit";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { LiveClient } from "./live-client.ts";
import { clientFrame, OPCODES, RawClient } from "./raw-client.ts";
import { type MetricsProcess, Harness } from "./harness.ts";

const MAX_SUBSCRIPTIONS = 2_000;
/** 2,000 accounts cause fewer calls to the account service than this: a call has many accounts. */
const FEW_CALLS = 100;

let harness: Harness;
let metrics: MetricsProcess;
const clients: (LiveClient | RawClient)[] = [];

beforeAll(async () => {
  harness = await Harness.start();
  metrics = await harness.metrics();
});

afterAll(async () => {
  for (const client of clients) client.close();
  await harness.scope.stop();
});

async function connect(to = metrics): Promise<LiveClient> {
  const client = await LiveClient.connect(to.wsUrl, harness.managementKey);
  clients.push(client);
  return client;
}

async function connectRaw(to = metrics): Promise<RawClient> {
  const client = await RawClient.open(to.wsUrl, harness.managementKey);
  clients.push(client);
  return client;
}

function numbers(count: number): string[] {
  return Array.from({ length: count }, (_, index) => String(index));
}

/** The newest sequence of each account in the process. */
async function sequencesOf(accountNumbers: readonly string[]): Promise<(number | undefined)[]> {
  const answer = await fetch(`${metrics.url}/internal/samples/latest`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      "x-service-token": harness.environment.secrets.serviceTokens.account,
    },
    body: JSON.stringify({ serverId: harness.serverId, accountNumbers }),
  });
  const { samples } = (await answer.json()) as { samples: ({ sequence: number } | null)[] };
  return samples.map((sample) => sample?.sequence);
}

describe("messages that come faster than 1,000 a second", () => {
  it("are all answered, in order, more slowly than they were sent; other sockets do not wait", async () => {
    const [flood, other] = [await connectRaw(), await connect()];
    const startedMs = Date.now();
    // One message of ten is valid; the errors of the other nine messages contain their number.
    flood.send(...numbers(10_000).map((n) => clientFrame(n.endsWith("0") ? "ping" : `{"accountNumber":"${n}"}`)));
    other.send("ping");
    await other.until(() => other.texts.includes("pong"));
    expect(flood.texts.length).toBeLessThan(10_000);
    await flood.until(() => flood.texts.length === 10_001);
    expect(Date.now() - startedMs).toBeGreaterThan(3_000);
    const found = flood.texts.slice(1).map((text, index) => {
      if (text === "pong") return `${String(index).slice(0, -1)}0`;
      return (JSON.parse(text) as { accountNumber: string }).accountNumber;
    });
    expect(found).toEqual(numbers(10_000));
    const account = harness.account();
    flood.send(clientFrame(JSON.stringify({ type: "subscribe", serverId: harness.serverId, accountNumber: account })));
    await harness.value(account, [100]);
    await flood.until(() => flood.texts.length === 10_002);
    expect(flood.closeCode).toBeNull();
  });

  it("can be ping frames: each is answered with a pong frame of the same text, and counts as a message", async () => {
    const client = await connectRaw();
    const startedMs = Date.now();
    client.send(...numbers(4_000).map((n) => clientFrame(n.padStart(100, "0"), { opcode: OPCODES.ping })));
    await client.until(() => client.pongs.length === 4_000);
    expect(client.pongs.map(Number)).toEqual(numbers(4_000).map(Number));
    expect(Date.now() - startedMs).toBeGreaterThan(1_000);
    client.send(clientFrame("ping"));
    await client.until(() => client.texts.at(-1) === "pong");
  });
});

describe("2,000 subscribes at once", () => {
  it("are all served, each with its own account's latest sample", async () => {
    const accounts = numbers(MAX_SUBSCRIPTIONS).map(() => harness.account());
    const before = harness.asked.length;
    const equityOf = (index: number): number => 10_000 + index;
    await Promise.all(accounts.map((account, index) => harness.value(account, [1, equityOf(index)])));
    for (const half of [accounts.slice(0, 1_000), accounts.slice(1_000)]) {
      await eventually(async () => expect(await sequencesOf(half)).toEqual(half.map(() => 2)), { timeoutMs: 30_000 });
    }
    expect(harness.asked.length - before).toBeLessThan(FEW_CALLS);
    const client = await connect();
    for (const account of accounts) client.subscribe(harness.serverId, account);
    await client.until(() => client.texts.length === 1 + MAX_SUBSCRIPTIONS);
    const samples = client.frames("account.metrics").map((frame) => AccountMetricsFrame.parse(frame));
    const found = samples.map(({ accountNumber, sequence, equity }) => [accountNumber, sequence, equity]);
    expect(found).toEqual(accounts.map((account, index) => [account, 2, equityOf(index) / 100]));
  });

  it("are all served for accounts without samples, which are looked up in batches; the 2,001st is rejected", async () => {
    const accounts = numbers(MAX_SUBSCRIPTIONS).map(() => harness.account());
    const before = harness.asked.length;
    const client = await connect();
    for (const account of accounts) client.subscribe(harness.serverId, account, 0);
    await client.until(() => client.texts.length === 1 + MAX_SUBSCRIPTIONS);
    const found = client.frames("account.metrics.replay").map(({ accountNumber }) => accountNumber);
    expect(new Set(found)).toEqual(new Set(accounts));
    const asked = harness.asked.slice(before);
    expect(new Set(asked.flat())).toEqual(new Set(accounts));
    expect(asked.length).toBeLessThan(FEW_CALLS);

    const [first = ""] = accounts;
    const oneMore = harness.account();
    client.subscribe(harness.serverId, oneMore, 0);
    await client.until(() => client.frames("error").length === 1);
    const { serverId } = harness;
    expect(client.frames("error")).toEqual([
      {
        type: "error",
        code: "TOO_MANY_SUBSCRIPTIONS",
        error: "A connection has at most 2000 subscriptions",
        serverId,
        accountNumber: oneMore,
      },
    ]);
    // An existing subscription can restart, and an ended subscription does not count.
    client.subscribe(serverId, first, 0);
    await client.until(() => client.frames("account.metrics.replay").length === MAX_SUBSCRIPTIONS + 1);
    client.send({ type: "unsubscribe", serverId, accountNumber: first });
    client.subscribe(serverId, oneMore, 0);
    await harness.value(oneMore, [100]);
    await client.until(() => client.last(oneMore) === 1);
    expect(client.frames("error")).toHaveLength(1);
  });
});

describe("messages that wait for the account service", () => {
  it("stop the reading of their socket while the maximum number of them waits; none is lost", async () => {
    const narrow = await harness.metrics({ MAX_SUBSCRIPTIONS_PER_SOCKET: "10", ROLES: "stream" });
    const account = harness.account();
    const { serverId } = harness;
    const client = await connectRaw(narrow);
    await harness.stopAccountService();
    const subscribe = JSON.stringify({ type: "subscribe", serverId, accountNumber: account, afterSequence: 0 });
    client.send(...numbers(20).map(() => clientFrame(subscribe)), clientFrame("ping"));
    await client.until(() => client.texts.at(-1) === "pong");
    client.send(clientFrame("ping"));
    const other = await connectRaw(narrow);
    other.send(clientFrame("ping"));
    await other.until(() => other.texts.at(-1) === "pong");
    expect(client.texts.slice(1)).toEqual(["pong"]);
    await harness.startAccountService();
    await client.until(() => client.texts.length === 23);
    const kinds = client.texts.map((text) => (text === "pong" ? text : (JSON.parse(text) as { type: string }).type));
    const notices = numbers(20).map(() => "account.metrics.replay");
    expect(kinds).toEqual(["connected", "pong", ...notices, "pong"]);
    await narrow.kill();
  });
});
