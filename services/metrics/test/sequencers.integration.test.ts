/** Processes with only the role `sequencer`: each reads the samples of its own partitions. */
import {
  markerKey,
  METRICS_ROUTES,
  type PartitionCheckpoint,
  type SampleCheckpoint,
  TOPICS,
  accountKey,
} from "@kapi/contracts";
import { callRoute, serviceCredentials, startInternalClient } from "@kapi/http";
import { type Message, partitionOfKey } from "@kapi/kafka";
import { eventually } from "@kapi/testkit";
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";

import { Harness, type MetricsProcess } from "./harness.ts";
import { LiveClient } from "./live-client.ts";

const PARTITIONS = 4;
const SEQUENCER = { ROLES: "sequencer", METRICS: "on" };
/**
 * Longer than the 30 s for which a process continues to read a partition that it has released, and
 * longer than a takeover after a crash.
 */
const MOVED_TIMEOUT_MS = 60_000;
const TEST_TIMEOUT_MS = 180_000;
const CALL_TIMEOUT_MS = 5_000;

let harness: Harness;

beforeAll(async () => {
  harness = await Harness.start({ partitions: PARTITIONS });
});
afterEach(async () => {
  await harness.endProcesses();
});
afterAll(async () => {
  await harness.scope.stop();
});

const range = (first: number, last: number): number[] =>
  Array.from({ length: last - first + 1 }, (_, index) => first + index);

/** The sum of a metric over its labels; 0 without the metric. */
async function metric({ url }: MetricsProcess, name: string): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text();
  const values = Array.from(text.matchAll(new RegExp(`^${name}(?:\\{[^}]*\\})? (\\S+)`, "gm")), ([, value]) =>
    Number(value),
  );
  return values.reduce((sum, value) => sum + value, 0);
}

async function waitForPartitions(process: MetricsProcess, count: number): Promise<void> {
  await eventually(async () => expect(await metric(process, "metrics_partitions_read")).toBe(count), {
    timeoutMs: MOVED_TIMEOUT_MS,
  });
}

/** Creates an account for each partition, in order of the partitions. */
function accountsOfAll(): string[] {
  const numbers = new Map<number, string>();
  while (numbers.size < PARTITIONS) {
    const number = harness.account();
    numbers.set(partitionOfKey(accountKey(harness.serverId, number), PARTITIONS), number);
  }
  return Array.from({ length: PARTITIONS }, (_, partition) => numbers.get(partition) ?? "");
}

/** Waits until each account has this many samples: every sequence once, in order. */
async function expectSequences(accounts: readonly string[], last: number): Promise<void> {
  for (const account of accounts) {
    const sequences = () =>
      harness.samplesOf(account).then((all) => all.map(({ message }) => Number(message.headers["sequence"])));
    await eventually(async () => expect((await sequences()).at(-1)).toBe(last), { timeoutMs: MOVED_TIMEOUT_MS });
    expect(await sequences()).toEqual(range(1, last));
  }
}

it(
  "sequencers read each sample in only one process, and take over the partitions of a killed process without a gap",
  { timeout: TEST_TIMEOUT_MS },
  async () => {
    const accounts = accountsOfAll();
    const first = await harness.metrics(SEQUENCER);
    for (const account of accounts) await harness.value(account, range(1, 10));
    await expectSequences(accounts, 10);
    await waitForPartitions(first, PARTITIONS);

    const second = await harness.metrics(SEQUENCER);
    await waitForPartitions(second, PARTITIONS / 2);
    await waitForPartitions(first, PARTITIONS / 2);
    const readBefore = await Promise.all([first, second].map((one) => metric(one, "metrics_samples_read_total")));
    for (const account of accounts) await harness.value(account, range(11, 60));
    await expectSequences(accounts, 60);
    await eventually(async () => {
      const readAfter = await Promise.all([first, second].map((one) => metric(one, "metrics_samples_read_total")));
      expect(readAfter.map((count, index) => count - (readBefore[index] ?? 0))).toEqual([100, 100]);
    });

    await first.kill();
    for (const account of accounts) await harness.value(account, range(61, 80));
    await expectSequences(accounts, 80);
    await waitForPartitions(second, PARTITIONS);
  },
);

it(
  "sequencers continue the sequence of an account that was idle before the takeover, and keep the account's window for new stream processes",
  { timeout: TEST_TIMEOUT_MS },
  async () => {
    const accounts = accountsOfAll();
    const [busy = "", idle = "", deleted = ""] = accounts;
    const first = await harness.metrics(SEQUENCER);
    for (const account of [busy, idle, deleted]) await harness.value(account, range(1, 100));
    for (const account of [busy, deleted]) await waitForCheckpoint(account, 100);
    await waitForMarker(idle, (await waitForCheckpoint(idle, 100)).at);
    await harness.metrics(SEQUENCER);
    await remove(first, deleted);
    await first.kill();
    await harness.value(busy, range(101, 110));
    await expectSequences([busy], 110);
    await harness.value(idle, [101]);
    await harness.value(deleted, [101]);
    await expectSequences([idle], 101);
    await waitForCheckpoint(busy, 110);
    // The process that took over has not read the samples before the marker. So it knows the start
    // of the window only from the old checkpoint.
    expect((await waitForCheckpoint(idle, 101)).window.sequence).toBe(1);

    const stream = await harness.metrics({ ROLES: "stream" });
    const client = await LiveClient.connect(stream.wsUrl, harness.managementKey);
    for (const account of [busy, idle]) client.subscribe(harness.serverId, account, 0);
    await client.until(() => client.last(busy) === 110 && client.last(idle) === 101);
    expect(client.sequences(busy)).toEqual(range(1, 110));
    expect(client.sequences(idle)).toEqual(range(1, 101));
    client.close();
    const samples = (await harness.samplesOf(deleted)).filter(({ message }) => message.value.length > 0);
    expect(samples).toHaveLength(100);
  },
);

it("sequencers return the newest samples of every account, also of accounts on the partitions of other sequencers", async () => {
  const stream = await harness.metrics({ ROLES: "stream" });
  const sequencers = [
    await harness.metrics({ ...SEQUENCER, SAMPLES_URL: stream.url }),
    await harness.metrics({ ...SEQUENCER, SAMPLES_URL: stream.url }),
  ];
  const accounts = accountsOfAll();
  for (const account of accounts) await harness.value(account, [1, 2]);
  for (const sequencer of sequencers) {
    await eventually(async () => {
      const body = { serverId: harness.serverId, accountNumbers: [...accounts, "99999999"] };
      const { samples } = await callAs("account", sequencer, (client) =>
        callRoute(client, METRICS_ROUTES.readLatestSamples, { body }),
      );
      expect(samples.map((sample) => sample?.sequence)).toEqual([2, 2, 2, 2, undefined]);
    });
  }
});

async function callAs<T>(
  caller: "account",
  to: MetricsProcess,
  work: (client: ReturnType<typeof startInternalClient>["value"]) => Promise<T>,
): Promise<T> {
  const { value, stop } = startInternalClient({
    baseUrl: to.url,
    credentials: serviceCredentials({ SERVICE_TOKEN: harness.environment.secrets.serviceTokens[caller] }),
    timeoutMs: CALL_TIMEOUT_MS,
  });
  try {
    return await work(value);
  } finally {
    await stop();
  }
}

async function remove(process: MetricsProcess, accountNumber: string): Promise<void> {
  const params = { serverId: harness.serverId, accountNumber };
  await callAs("account", process, (client) => callRoute(client, METRICS_ROUTES.deleteAccount, { params }));
  harness.accounts.delete(accountKey(harness.serverId, accountNumber));
}

/** Waits for the checkpoint of a sample. Returns it, and the offset of its record. */
async function waitForCheckpoint(account: string, sequence: number): Promise<SampleCheckpoint & { at: number }> {
  return eventually(
    async () => {
      const found = await newestRecord(accountKey(harness.serverId, account));
      const checkpoint = JSON.parse(found?.value.toString() ?? "{}") as SampleCheckpoint;
      expect(checkpoint.sequence).toBe(sequence);
      return { ...checkpoint, at: Number(found?.offset) };
    },
    { timeoutMs: MOVED_TIMEOUT_MS },
  );
}

/** The newest record of `metrics.latest` with a key. */
async function newestRecord(key: string): Promise<Message | undefined> {
  return (await harness.readAll(TOPICS.metricsLatest)).findLast(({ message }) => message.key === key)?.message;
}

/**
 * Publishes valuations of another account on the partition until the marker's `latestOffset` is
 * above the offset of the account's checkpoint. Until then the checkpoint may be stale, so a
 * process that takes over reads the samples of the account's window.
 */
async function waitForMarker(account: string, checkpointAt: number): Promise<void> {
  const partition = partitionOfKey(accountKey(harness.serverId, account), PARTITIONS);
  let other = harness.account();
  while (partitionOfKey(accountKey(harness.serverId, other), PARTITIONS) !== partition) other = harness.account();
  let equity = 0;
  await eventually(
    async () => {
      await harness.value(other, [(equity += 1)]);
      const marker = JSON.parse((await newestRecord(markerKey(partition)))?.value.toString() ?? "{}");
      expect((marker as PartitionCheckpoint).latestOffset).toBeGreaterThan(checkpointAt);
    },
    { timeoutMs: MOVED_TIMEOUT_MS, intervalMs: 500 },
  );
}
