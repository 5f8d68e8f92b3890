import { accountKey, SampleCheckpoint, TOPICS, type TopicContract } from "@kapi/contracts";
import { createTopics, topicIds } from "@kapi/kafka";
import { eventually } from "@kapi/testkit";
import { afterAll, beforeAll, expect, it } from "vitest";

import { LiveClient } from "./live-client.ts";
import { type MetricsProcess, Harness } from "./harness.ts";

const PARTITIONS = 4;
const DEADLINE_MS = 30_000;
const TEST_TIMEOUT_MS = 120_000;
/** The topics whose offsets the live stream compares. */
const ALL = [TOPICS.tradingValuations, TOPICS.metricsSamples, TOPICS.metricsLatest];
/** `RECREATED_TOPIC=metrics.samples` tests only that topic. */
const RECREATED = ALL.filter(({ name }) => (process.env["RECREATED_TOPIC"] ?? name) === name);

let harness: Harness;
let metrics: MetricsProcess;
const clients: LiveClient[] = [];

beforeAll(async () => {
  harness = await Harness.start({ partitions: PARTITIONS });
  metrics = await harness.metrics();
});

afterAll(async () => {
  for (const client of clients) client.close();
  await harness.scope.stop();
});

async function recreate(topics: readonly TopicContract[]): Promise<void> {
  const admin = harness.kafka.client().admin();
  await admin.connect();
  await admin.deleteTopics({ topics: topics.map((topic) => harness.kafka.topicName(topic)) });
  await admin.disconnect();
  await eventually(async () => expect(new Set(await topicIds(harness.kafka, topics))).toEqual(new Set([null])));
  await createTopics(harness.kafka, { partitions: PARTITIONS, replicationFactor: 1, minInsyncReplicas: 1 });
}

async function follow(account: string, afterSequence: number): Promise<LiveClient> {
  const client = await LiveClient.connect(metrics.wsUrl, harness.managementKey);
  clients.push(client);
  client.subscribe(harness.serverId, account, afterSequence);
  return client;
}

it(
  `${RECREATED.map(({ name }) => name).join(", ")} are deleted and recreated: the process ends or continues the stream, and its next start continues every sequence`,
  async () => {
    const busy = harness.account();
    let idle = harness.account();
    // `idle` is on its own partition, where the new offsets stay below the old offsets.
    while (partitionOf(idle) === partitionOf(busy)) idle = harness.account();
    for (const account of [busy, idle]) {
      const client = await follow(account, 0);
      await harness.value(account, [100, 200, 300, 400, 500]);
      await client.until(() => client.last(account) === 5);
    }
    // `idle` gets no valuation while the next process runs, so this process never writes to the
    // partition of `idle`. The samples of `idle` must still be kept.
    await metrics.kill("SIGTERM");
    metrics = await harness.metrics();
    const watcher = await follow(busy, 5);
    await harness.value(busy, [550]);
    await watcher.until(() => watcher.last(busy) === 6);

    await recreate(RECREATED);
    let ended = false;
    void metrics.ended.then(() => {
      ended = true;
    });
    const isNoticed = async (): Promise<boolean> => {
      if (!ended) await harness.value(busy, [600]);
      return ended || watcher.last(busy) > 6;
    };
    await eventually(isNoticed, { timeoutMs: DEADLINE_MS });
    await metrics.kill("SIGTERM");
    metrics = await harness.metrics();

    for (const [account, last] of [
      [busy, 6],
      [idle, 5],
    ] as const) {
      const client = await follow(account, last);
      await harness.value(account, [700, 800]);
      await client.until(() => client.samples(account).at(-1)?.equity === 8);
      expect(client.sequences(account)).toEqual(range(last + 1, client.last(account)));
      expect(client.frames("account.metrics.replay")).toMatchObject([{ replayTruncated: false }]);
      await eventually(async () => expect((await checkpointOf(account)).sequence).toBe(client.last(account)));
    }
  },
  TEST_TIMEOUT_MS,
);

function partitionOf(account: string): number {
  return harness.producer.partitionOf(TOPICS.tradingValuations, accountKey(harness.serverId, account));
}

/** The account's newest checkpoint. */
async function checkpointOf(account: string): Promise<SampleCheckpoint> {
  const key = accountKey(harness.serverId, account);
  const found = (await harness.readAll(TOPICS.metricsLatest)).findLast(({ message }) => message.key === key);
  return SampleCheckpoint.parse(JSON.parse(found?.message.value.toString() ?? "{}"));
}

function range(first: number, last: number): number[] {
  return Array.from({ length: last - first + 1 }, (_, index) => first + index);
}
