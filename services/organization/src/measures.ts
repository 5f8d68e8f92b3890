/** Gauges of waiting work: usage in Redis for the ledger, messages for Kafka. */
import type { Clock } from "@kapi/kernel";
import { outboxAge } from "@kapi/outbox";
import type { Database } from "@kapi/postgres";
import { ALL_SHARDS, readUsage, usageBacklog } from "@kapi/admission/redis";
import type { RedisConnection } from "@kapi/redis";
import { observed } from "@kapi/runtime";

const MS_PER_SECOND = 1_000;

/** Waiting usage entries: all, those in the fullest shard, and the time of the oldest entry. */
interface WaitingUsage {
  readonly entries: number;
  readonly most: number;
  readonly oldestAtMs: number | null;
}

/** Reads Redis and PostgreSQL only when metrics are collected. */
export function measureWaiting(dependencies: { redis: RedisConnection; database: Database; clock: Clock }): void {
  const { redis, database, clock } = dependencies;
  const usage = shareRunning(() => waitingUsage(redis));
  observed(
    "organization.usage.backlog",
    "Usage entries that wait in Redis for the ledger; every process reports the same",
    "{entry}",
    async () => [{ value: (await usage()).entries }],
  );
  observed(
    "organization.usage.fullest_backlog",
    "Usage entries of the wallet shard that has the most; at `USAGE_STREAM_LIMIT` its organizations are answered 500",
    "{entry}",
    async () => [{ value: (await usage()).most }],
  );
  observed("organization.usage.age", "How long the oldest usage entry has waited in Redis", "s", async () => {
    const { oldestAtMs } = await usage();
    const ageMs = oldestAtMs === null ? 0 : Math.max(0, clock.nowMs() - oldestAtMs);
    return [{ value: ageMs / MS_PER_SECOND }];
  });
  observed(
    "organization.outbox.age",
    "Age of the oldest committed message that is not known to be published",
    "s",
    async () => [{ value: await outboxAge(database) }],
  );
}

async function waitingUsage(redis: RedisConnection): Promise<WaitingUsage> {
  const backlog = (await usageBacklog(redis, ALL_SHARDS)).replies;
  const waiting = ALL_SHARDS.filter((shard) => (backlog.get(shard) ?? 0) > 0);
  const heads = [...(await readUsage(redis, waiting, 1)).replies.values()].flat();
  return {
    entries: [...backlog.values()].reduce((total, entries) => total + entries, 0),
    most: Math.max(0, ...backlog.values()),
    oldestAtMs: heads.length === 0 ? null : Math.min(...heads.map(({ atMs }) => atMs)),
  };
}

/** Concurrent calls share one run. */
function shareRunning<T>(work: () => Promise<T>): () => Promise<T> {
  let running: Promise<T> | null = null;
  return () =>
    (running ??= work().finally(() => {
      running = null;
    }));
}
