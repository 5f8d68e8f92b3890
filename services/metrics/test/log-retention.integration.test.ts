import { AccountMetricsAnswer, accountKey, TOPICS, type TopicContract } from "@kapi/contracts";
import { beginOffsets, endOffsets } from "@kapi/kafka";
import { alterTopic } from "@kapi/kafka/alter-topic";
import { eventually } from "@kapi/testkit";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { LiveClient } from "./live-client.ts";
import { type MetricsProcess, Harness } from "./harness.ts";

/** The broker checks retention and compacts several times a second, not every few minutes. */
const OWN_KAFKA = {
  "log.cleaner.backoff.ms": "200",
  "log.retention.check.interval.ms": "300",
  "log.initial.task.delay.ms": "100",
};
/** A segment is closed after half a second, and compacted at once. */
const LATEST = {
  "segment.ms": "500",
  "min.cleanable.dirty.ratio": "0.001",
  "min.compaction.lag.ms": "0",
  "max.compaction.lag.ms": "500",
  "delete.retention.ms": "500",
};
const PARTITION = 0;
const BROKER_MS = 30_000;
const MINUTE_MS = 60_000;

let harness: Harness;
let metrics: MetricsProcess;
const clients: LiveClient[] = [];
const pastMs = Math.floor(Date.now() / MINUTE_MS) * MINUTE_MS - 60 * MINUTE_MS;

beforeAll(async () => {
  const topics = { "metrics.latest": { configs: LATEST } };
  harness = await Harness.start({ partitions: 1, ownKafka: OWN_KAFKA, topics });
  metrics = await harness.metrics();
});

afterAll(async () => {
  for (const client of clients) client.close();
  await harness.scope.stop();
});

async function connect(): Promise<LiveClient> {
  const client = await LiveClient.connect(metrics.wsUrl, harness.managementKey);
  clients.push(client);
  return client;
}

function range(first: number, last: number): number[] {
  return Array.from({ length: last - first + 1 }, (_, index) => first + index);
}

/** The samples of an account that this client received, byte for byte. */
function textsOf(client: LiveClient, account: string): string[] {
  return client.texts.filter((text) => text.startsWith('{"type":"account.metrics",') && text.includes(`"${account}"`));
}

/** The records of `metrics.latest`, by account number, in log order. */
async function checkpoints(): Promise<Map<string, string[]>> {
  const found = new Map<string, string[]>();
  for (const { message } of await harness.readAll(TOPICS.metricsLatest)) {
    const account = message.key.split("/")[1] ?? "";
    found.set(account, [...(found.get(account) ?? []), message.value.toString()]);
  }
  return found;
}

/** Waits until the account's checkpoint has `sequence`. */
async function checkpointed(account: string, sequence: number): Promise<string> {
  return eventually(
    async () => {
      const text = (await checkpoints()).get(account)?.at(-1) ?? "{}";
      expect(JSON.parse(text)).toMatchObject({ sequence });
      return text;
    },
    { timeoutMs: BROKER_MS },
  );
}

/**
 * Repeats `write` until compaction has left, of each account in `wanted`, only the record in
 * `wanted`; no record if `wanted` has null. Each round writes: only a write closes a segment.
 */
async function compactedTo(wanted: ReadonlyMap<string, string | null>, write: () => Promise<unknown>): Promise<void> {
  await eventually(
    async () => {
      await write();
      const found = await checkpoints();
      for (const [account, text] of wanted) expect(found.get(account)).toEqual(text === null ? undefined : [text]);
    },
    { timeoutMs: BROKER_MS, intervalMs: 200 },
  );
}

/** Makes the broker delete all records of the topics. Later records are kept. */
async function emptied(...topics: readonly TopicContract[]): Promise<void> {
  for (const topic of topics) await alterTopic(harness.kafka, topic, { "retention.ms": "1", "segment.ms": "100" });
  for (const topic of topics) {
    await eventually(
      async () => {
        const [begins, ends] = [await beginOffsets(harness.kafka, topic), await endOffsets(harness.kafka, topic)];
        expect(begins.get(PARTITION)).toBe(ends.get(PARTITION));
        expect(begins.get(PARTITION)).toBeGreaterThan(0n);
      },
      { timeoutMs: BROKER_MS, intervalMs: 200 },
    );
    await alterTopic(harness.kafka, topic, { "retention.ms": "3600000" });
  }
}

describe("a compacted metrics.latest", () => {
  it("has no record of a deleted account, and restores every sequence and window, also if an account has only a stale checkpoint left", async () => {
    const accounts = [harness.account(), harness.account(), harness.account()];
    const [, stale = "", alsoStale = ""] = accounts;
    const [gone, busy] = [harness.account(), harness.account()];
    const first = await connect();
    for (const account of [...accounts, gone]) first.subscribe(harness.serverId, account, 0);
    await harness.value(gone, [1]);
    const old = new Map<string, string>();
    for (const last of [10, 20, 30]) {
      for (const account of accounts) await harness.value(account, range(last - 9, last));
      for (const account of accounts) {
        const text = await checkpointed(account, last);
        if (last === 10) old.set(account, text);
      }
    }
    await checkpointed(gone, 1);
    const answer = await fetch(`${metrics.url}/internal/servers/${harness.serverId}/accounts/${gone}`, {
      method: "DELETE",
      headers: { "x-service-token": harness.environment.secrets.serviceTokens.account },
    });
    expect(answer.status).toBe(200);
    const newest = new Map<string, string | null>([[gone, null]]);
    for (const account of accounts) newest.set(account, await checkpointed(account, 30));
    let equity = 0;
    await compactedTo(newest, () => harness.value(busy, [(equity += 1)]));

    // While no process runs, a writer that lost the partition long ago writes its old checkpoints.
    await metrics.kill();
    const write = (account: string): Promise<unknown> => {
      const [key, value] = [accountKey(harness.serverId, account), old.get(account) ?? ""];
      return harness.producer.send(TOPICS.metricsLatest, { key, value, partition: PARTITION });
    };
    await write(stale);
    await compactedTo(new Map([[stale, old.get(stale) ?? ""]]), () => write(alsoStale));
    metrics = await harness.metrics();

    const second = await connect();
    for (const account of [...accounts, gone]) second.subscribe(harness.serverId, account, 0);
    for (const account of accounts) await harness.value(account, range(31, 35));
    await second.until(() => accounts.every((account) => second.last(account) === 35));
    for (const account of accounts) {
      expect(second.sequences(account)).toEqual(range(1, 35));
      expect(textsOf(second, account).slice(0, 30)).toEqual(textsOf(first, account));
      const logged = (await harness.samplesOf(account)).map(({ message }) => Number(message.headers["sequence"]));
      expect(logged).toEqual(range(1, 35));
    }
    expect(second.frames("error")).toMatchObject([{ code: "ACCOUNT_NOT_FOUND", accountNumber: gone }]);
    for (const account of accounts) await checkpointed(account, 35);
  });
});

describe("logs whose old segments the broker has deleted", () => {
  /**
   * Publishes the `n`th valuation of an account. Its `measuredAt` is {@link pastMs} plus `n` × 5 s.
   */
  const valueAt = (account: string, n: number): Promise<void> =>
    harness.value(account, [n * 100], { measuredAt: new Date(pastMs + n * 5_000).toISOString() });

  it("leave every account its latest sample and its next sequence, and a process continues without the deleted segments", async () => {
    const [idle, busy] = [harness.account(), harness.account()];
    const first = await connect();
    for (const account of [idle, busy]) first.subscribe(harness.serverId, account, 0);
    for (const n of range(1, 3)) await valueAt(idle, n);
    for (const n of range(1, 20)) await valueAt(busy, n);
    await checkpointed(idle, 3);
    await checkpointed(busy, 20);
    await metrics.kill("SIGTERM");
    // These valuations are after the committed offset, and are deleted before a process reads them.
    for (const n of range(21, 30)) await valueAt(busy, n);
    await emptied(TOPICS.tradingValuations, TOPICS.metricsSamples);
    for (const n of range(31, 33)) await valueAt(busy, n);
    // Without a catch-up time, each client of the loop below gets its notice before the pong to its
    // ping.
    metrics = await harness.metrics({ COALESCE_MS: "1000", CATCH_UP_TIMEOUT_MS: "0" });

    const resumed = await connect();
    resumed.subscribe(harness.serverId, busy, 20);
    await resumed.until(() => resumed.samples(busy).at(-1)?.equity === 33);
    expect(resumed.sequences(busy)).toEqual(range(21, resumed.last(busy)));
    expect(resumed.frames("account.metrics.replay")).toMatchObject([{ replayTruncated: false }]);
    const late = await connect();
    late.subscribe(harness.serverId, busy, 5);
    await late.until(() => late.last(busy) === resumed.last(busy));
    // Only the checkpoint had the 20th sample. The window keeps a sample that was restored from a
    // checkpoint only until a newer sample follows.
    expect(late.frames("account.metrics.replay")).toMatchObject([
      { replayTruncated: true, firstAvailableSequence: 21 },
    ]);
    expect(late.sequences(busy)).toEqual(range(21, resumed.last(busy)));

    const latest = textsOf(first, idle).at(-1);
    const known = { firstAvailableSequence: 3, lastAvailableSequence: 3 };
    const asked: [number | undefined, object[], (string | undefined)[]][] = [
      [undefined, [], [latest]],
      [0, [{ ...known, replayTruncated: true, replayCount: 1 }], [latest]],
      [2, [{ ...known, replayTruncated: false, replayCount: 1 }], [latest]],
      [3, [{ ...known, replayTruncated: false, replayCount: 0 }], []],
      [9, [{ ...known, replayTruncated: true, replayCount: 0 }], []],
    ];
    for (const [afterSequence, notices, samples] of asked) {
      const client = await connect();
      client.subscribe(harness.serverId, idle, afterSequence);
      client.send("ping");
      await client.until(() => client.texts.includes("pong"));
      expect(client.frames("account.metrics.replay")).toMatchObject(notices);
      expect(textsOf(client, idle)).toEqual(samples);
    }
    late.subscribe(harness.serverId, idle, 3);
    await valueAt(idle, 4);
    await late.until(() => late.last(idle) === 4);
  });

  it("do not stop the snapshots: a later sample becomes a snapshot", async () => {
    const account = harness.account();
    await valueAt(account, 1);
    const query = new URLSearchParams({ organizationId: harness.organizationId, accountNumber: account }).toString();
    await eventually(
      async () => {
        const headers = { "x-service-token": harness.environment.secrets.serviceTokens.gateway };
        const url = `${metrics.url}/internal/servers/${harness.serverId}/account-metrics?${query}`;
        const { snapshots } = AccountMetricsAnswer.parse(await (await fetch(url, { headers })).json());
        expect(snapshots).toMatchObject([{ sequence: 1, equity: 1 }]);
      },
      { timeoutMs: BROKER_MS },
    );
  });
});

describe("a Kafka that hangs until a produce request has failed", () => {
  it("only delays the samples: sockets stay open, no sequence is missing or sent twice", async () => {
    const account = harness.account();
    const client = await connect();
    client.subscribe(harness.serverId, account, 0);
    await harness.value(account, [100]);
    await client.until(() => client.last(account) === 1);
    // The valuation waits for the coalescing interval, and becomes a sample while Kafka hangs.
    await harness.value(account, [200]);
    try {
      await harness.environment.kafka.pause();
      await expect(harness.value(account, [300])).rejects.toThrow("not acknowledged");
      client.send("ping");
      await client.until(() => client.texts.includes("pong"));
      expect((await fetch(`${metrics.url}/livez`)).status).toBe(200);
    } finally {
      harness.environment.kafka.resume();
    }
    await eventually(() => harness.value(account, [400]), { timeoutMs: BROKER_MS });
    try {
      await eventually(() => client.samples(account).at(-1)?.equity === 4, { timeoutMs: BROKER_MS });
    } catch (error) {
      const [livez, readyz] = [await fetch(`${metrics.url}/livez`), await fetch(`${metrics.url}/readyz`)];
      throw new Error(`no sample; live: ${await livez.text()}; ready: ${await readyz.text()}`, { cause: error });
    }
    expect(client.sequences(account)).toEqual(range(1, client.last(account)));
    const other = await connect();
    other.subscribe(harness.serverId, account, 0);
    await other.until(() => other.last(account) === client.last(account));
    expect(textsOf(other, account)).toEqual(textsOf(client, account));
  });
});
