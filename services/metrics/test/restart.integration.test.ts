import { accountKey, LoggedRequests, type SampleCheckpoint, TOPICS } from "@kapi/contracts";
import { delay } from "@kapi/kernel";
import { eventually } from "@kapi/testkit";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";

import { LiveClient } from "./live-client.ts";
import { RawClient } from "./raw-client.ts";
import { Harness } from "./harness.ts";

let harness: Harness;

beforeAll(async () => {
  harness = await Harness.start();
});

afterEach(async () => {
  await harness.endProcesses();
});

afterAll(async () => {
  await harness.scope.stop();
});

function range(first: number, last: number): number[] {
  return Array.from({ length: last - first + 1 }, (_, index) => first + index);
}

async function waitForSamples(account: string, count: number): Promise<Awaited<ReturnType<Harness["samplesOf"]>>> {
  await eventually(async () => expect((await harness.samplesOf(account)).length).toBeGreaterThanOrEqual(count), {
    timeoutMs: 30_000,
  });
  return harness.samplesOf(account);
}

async function waitForCheckpoint(account: string, sequence: number): Promise<SampleCheckpoint> {
  const key = accountKey(harness.serverId, account);
  return eventually(
    async () => {
      const found = (await harness.readAll(TOPICS.metricsLatest)).findLast(({ message }) => message.key === key);
      const checkpoint = JSON.parse(found?.message.value.toString() ?? "{}") as SampleCheckpoint;
      expect(checkpoint.sequence).toBe(sequence);
      return checkpoint;
    },
    { timeoutMs: 20_000 },
  );
}

/** The samples that a new client gets after sequence 0, in order, as soon as it has `count`. */
async function replayed(wsUrl: string, account: string, count: number): Promise<string[]> {
  const client = await LiveClient.connect(wsUrl, harness.managementKey);
  client.subscribe(harness.serverId, account, 0);
  await client.until(() => client.samples(account).length >= count);
  const texts = client.texts.filter((text) => text.includes('"type":"account.metrics"'));
  client.close();
  return texts;
}

describe("a metrics process that is killed or paused", () => {
  it("continues every sequence after its restart, with the same bytes for the same sequence and no gap", async () => {
    const accounts = [harness.account(), harness.account(), harness.account()];
    const first = await harness.metrics();
    const live = await LiveClient.connect(first.wsUrl, harness.managementKey);
    for (const account of accounts) live.subscribe(harness.serverId, account, 0);
    for (const account of accounts) await harness.value(account, range(1, 40));
    await live.until(() => accounts.every((account) => live.sequences(account).length === 40));
    const feeding = (async () => {
      for (const start of [41, 61, 81])
        for (const account of accounts) await harness.value(account, range(start, start + 19));
    })();
    await first.kill();
    await feeding;
    const second = await harness.metrics();
    for (const account of accounts) {
      await waitForSamples(account, 100);
      const texts = await replayed(second.wsUrl, account, 100);
      const sequences = texts.map((text) => (JSON.parse(text) as { sequence: number }).sequence);
      expect(sequences).toEqual(range(1, 100));
      const before = live.texts.filter((text) => text.includes(`"accountNumber":"${account}"`)).slice(1);
      expect(texts.slice(0, before.length)).toEqual(before);
    }
    live.close();
  });

  it("loses no minimum: a sample after the restart has the lowest equity of the valuations that had no sample", async () => {
    const account = harness.account();
    const slow = { COALESCE_MS: "5000" };
    const first = await harness.metrics(slow);
    await harness.value(account, [100_00]);
    await waitForSamples(account, 1);
    await harness.value(account, [100_01, 50_00, 100_02]);
    await delay(500);
    await first.kill();
    await harness.metrics(slow);
    const samples = await waitForSamples(account, 3);
    const frames = samples.map(({ message }) => JSON.parse(message.value.toString()) as Record<string, number>);
    expect(frames.map((sample) => sample["sequence"])).toEqual([1, 2, 3]);
    expect(frames.at(-1)).toMatchObject({ equity: 100.02, intervalMinimumEquity: 50 });
  });

  it("loses its partitions to another process while it is paused, and clients miss and repeat no sample", async () => {
    const account = harness.account();
    const sequencer = await harness.metrics({ ROLES: "sequencer" });
    const stream = await harness.metrics({ ROLES: "stream" });
    const client = await LiveClient.connect(stream.wsUrl, harness.managementKey);
    client.subscribe(harness.serverId, account, 0);
    await harness.value(account, range(1, 30));
    await client.until(() => client.sequences(account).length === 30);
    sequencer.signal("SIGSTOP");
    const other = await harness.metrics({ ROLES: "sequencer" });
    await harness.value(account, range(31, 60));
    await client.until(() => client.sequences(account).length === 60);
    sequencer.signal("SIGCONT");
    await harness.value(account, range(61, 90));
    await client.until(() => client.sequences(account).length >= 90);
    expect(client.sequences(account)).toEqual(range(1, 90));
    client.close();
    await other.kill();
  });
});

describe("a sample of another writer", () => {
  it("is rejected by every process if it does not follow the last sample, and the account's stream continues", async () => {
    const account = harness.account();
    const key = accountKey(harness.serverId, account);
    const both = await harness.metrics();
    const stream = await harness.metrics({ ROLES: "stream" });
    await harness.value(account, range(1, 10));
    const samples = await waitForSamples(account, 10);
    const { partition, message } = samples[4] ?? { partition: 0, message: undefined };
    const forged = (headers: Record<string, string>): Promise<unknown> =>
      harness.producer.send(TOPICS.metricsSamples, { key, value: `{"forged":true}`, headers, partition });
    const last = samples[9]?.message.headers["to"] ?? "";
    await forged({ ...message?.headers });
    await forged({ sequence: "11", from: "-1", to: last });
    await forged({ sequence: "12", from: last, to: String(Number(last) + 1) });
    await forged({ sequence: "eleven", from: last, to: last });
    await harness.value(account, range(11, 20));
    for (const { wsUrl } of [both, stream]) {
      const texts = await replayed(wsUrl, account, 20);
      expect(texts.map((text) => (JSON.parse(text) as { sequence?: number }).sequence)).toEqual(range(1, 20));
    }
  });

  it("is accepted if it follows the last sample: the sequencer continues after it and loses no valuation", async () => {
    const account = harness.account();
    const key = accountKey(harness.serverId, account);
    const metrics = await harness.metrics({ COALESCE_MS: "2000" });
    await harness.value(account, [100_00]);
    const [first] = await waitForSamples(account, 1);
    await harness.value(account, [90_00, 95_00]);
    const to = Number(first?.message.headers["to"]);
    // The foreign sample includes the minimum; our sample must continue with the next valuations.
    const frame = { ...(JSON.parse(first?.message.value.toString() ?? "{}") as object), sequence: 2, equity: 90 };
    await harness.producer.send(TOPICS.metricsSamples, {
      key,
      value: JSON.stringify(frame),
      headers: { sequence: "2", from: String(to), to: String(to + 1) },
      partition: first?.partition ?? 0,
    });
    const texts = await replayed(metrics.wsUrl, account, 3);
    const frames = texts.map((text) => JSON.parse(text) as Record<string, unknown>);
    expect(frames.map((sample) => sample["sequence"])).toEqual([1, 2, 3]);
    // Our interval starts with the equity of the foreign sample.
    expect(frames[2]).toMatchObject({ equity: 95, intervalMinimumEquity: 90 });
  });
});

describe("a checkpoint", () => {
  it("restores the whole window after a restart", async () => {
    const account = harness.account();
    const first = await harness.metrics();
    await harness.value(account, range(1, 400));
    const before = await waitForSamples(account, 400);
    await waitForCheckpoint(account, 400);
    await first.kill();
    const second = await harness.metrics();
    const texts = await replayed(second.wsUrl, account, 300);
    expect(texts).toEqual(before.slice(100).map(({ message }) => message.value.toString()));
  });

  it("that is stale has no effect, whether it is written while a process runs or while none runs", async () => {
    const account = harness.account();
    const key = accountKey(harness.serverId, account);
    const first = await harness.metrics();
    await harness.value(account, range(1, 5));
    const stale = await waitForCheckpoint(account, 5);
    await harness.value(account, range(6, 20));
    const fresh = await waitForCheckpoint(account, 20);
    const [{ partition } = { partition: 0 }] = await harness.samplesOf(account);
    const writeStale = (): Promise<unknown> =>
      harness.producer.send(TOPICS.metricsLatest, { key, value: JSON.stringify(stale), partition });
    await writeStale();
    // The partition's sequencer replaces the stale checkpoint.
    expect(await waitForCheckpoint(account, 20)).toMatchObject({ sequence: 20, offset: fresh.offset });
    await first.kill();
    await writeStale();
    const second = await harness.metrics();
    await harness.value(account, range(21, 30));
    const texts = await replayed(second.wsUrl, account, 30);
    expect(texts.map((text) => (JSON.parse(text) as { sequence: number }).sequence)).toEqual(range(1, 30));
    const counted = (await harness.samplesOf(account)).map(({ message }) => Number(message.headers["sequence"]));
    expect(counted).toEqual(range(1, 30));
  });

  it("that cannot be decoded loses no sample: the start only reads more of the log", async () => {
    const account = harness.account();
    const first = await harness.metrics({ CHECKPOINT_INTERVAL_MS: "60000" });
    await harness.value(account, range(1, 25));
    const samples = await waitForSamples(account, 25);
    await first.kill();
    const partition = samples[0]?.partition ?? 0;
    const key = accountKey(harness.serverId, account);
    await harness.producer.send(TOPICS.metricsLatest, { key, value: "{", partition });
    const second = await harness.metrics();
    await harness.value(account, range(26, 30));
    expect(await replayed(second.wsUrl, account, 30)).toHaveLength(30);
  });
});

describe("a metrics process with open sockets", () => {
  it("closes them with 1012 when it stops", async () => {
    const metrics = await harness.metrics();
    const client = await LiveClient.connect(metrics.wsUrl, harness.managementKey);
    await metrics.kill("SIGTERM");
    await client.until(() => client.closeCode !== null);
    expect(client.closeCode).toBe(1012);
  });

  it("spreads the closing of many sockets, still serves sockets that are open, and rejects new sockets meanwhile", async () => {
    const metrics = await harness.metrics({ METRICS: "on" });
    const clients = await Promise.all(
      Array.from({ length: 60 }, () => LiveClient.connect(metrics.wsUrl, harness.managementKey)),
    );
    const closed = (): LiveClient[] => clients.filter(({ closeCode }) => closeCode !== null);
    const ended = metrics.kill("SIGTERM");
    await eventually(() => closed().length > 0, { timeoutMs: 20_000 });
    const { answer } = await RawClient.handshake(metrics.wsUrl, harness.managementKey);
    expect(answer).toMatchObject({
      status: 500,
      headers: { "x-error-code": "DEPENDENCY_UNAVAILABLE", "retry-after": "1" },
    });
    const measures = await (await fetch(`${metrics.url}/metrics`)).text();
    expect(measures).toMatch(/^metrics_live_handshakes_total\{[^}]*status="500"[^}]*\} 1$/m);
    const left = clients.filter((client) => client.closeCode === null);
    for (const client of left) client.send("ping");
    await ended;
    expect(left.some(({ texts }) => texts.includes("pong"))).toBe(true);
    await eventually(() => closed().length === clients.length);
    expect(new Set(clients.map(({ closeCode }) => closeCode))).toEqual(new Set([1012]));
    const logged = (await harness.readAll(TOPICS.apiRequests)).flatMap(
      ({ message }) => LoggedRequests.parse(JSON.parse(message.value.toString())).requests,
    );
    const rejected = logged.filter(({ requestId }) => requestId === answer.headers["x-request-id"]);
    expect(rejected).toMatchObject([{ operation: "liveMetrics", status: 500, creditsCharged: 0 }]);
  });

  it("sends a slow client every sample, or a notice of the missed ones, and never an unannounced gap", async () => {
    const metrics = await harness.metrics({ STUCK_TIMEOUT_MS: "60000" });
    // Few accounts, so that their windows are small compared with the network's buffers.
    const accounts = Array.from({ length: 4 }, () => harness.account());
    const client = await LiveClient.connect(metrics.wsUrl, harness.managementKey);
    const other = await LiveClient.connect(metrics.wsUrl, harness.managementKey);
    for (const account of accounts) for (const one of [client, other]) one.subscribe(harness.serverId, account, 0);
    await client.until(() => client.frames("account.metrics.replay").length === accounts.length);
    client.ws.pause();
    // 7 MB: more than the network's buffers, the socket's limit and the windows together.
    for (let round = 0; round < 12; round += 1) {
      for (const account of accounts) await harness.value(account, range(round * 500 + 1, round * 500 + 500));
    }
    await other.until(() => accounts.every((account) => other.last(account) === 6_000));
    other.close();
    client.ws.resume();
    await client.until(() => accounts.every((account) => client.last(account) === 6_000));
    let truncated = 0;
    for (const account of accounts) {
      let next = 1;
      for (const frame of client.frames()) {
        if (frame["accountNumber"] !== account) continue;
        if (frame.type === "account.metrics.replay" && frame["replayTruncated"] === true) {
          truncated += 1;
          next = Number(frame["firstAvailableSequence"]);
        } else if (frame.type === "account.metrics") {
          expect(frame["sequence"]).toBe(next);
          next += 1;
        }
      }
      expect(next).toBe(6_001);
    }
    expect(truncated).toBeGreaterThan(0);
    client.close();
  });

  it("closes with 4408 a client that stays stalled, and serves other clients meanwhile", async () => {
    const metrics = await harness.metrics({ STUCK_TIMEOUT_MS: "1500" });
    const accounts = Array.from({ length: 40 }, () => harness.account());
    const [stuck, other] = [
      await LiveClient.connect(metrics.wsUrl, harness.managementKey),
      await LiveClient.connect(metrics.wsUrl, harness.managementKey),
    ];
    for (const account of accounts) for (const client of [stuck, other]) client.subscribe(harness.serverId, account, 0);
    await stuck.until(() => stuck.frames("account.metrics.replay").length === accounts.length);
    stuck.ws.pause();
    for (let round = 0; round < 12; round += 1) {
      for (const account of accounts) await harness.value(account, range(round * 50 + 1, round * 50 + 50));
    }
    await other.until(() => accounts.every((account) => other.last(account) === 600));
    await delay(3_000);
    stuck.ws.resume();
    await stuck.until(() => stuck.closeCode !== null);
    expect(stuck.closeCode).toBe(4408);
    expect(other.closeCode).toBeNull();
    other.close();
  });
});
