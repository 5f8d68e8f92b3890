/**
 * `npm run bench -- storage`: measures the stored bytes per deposit, for each table with its
 * indexes, each topic, and each kind of Redis key. It starts services, and servers unless the
 * environment names servers. The servers must be native processes: where a Docker engine answers,
 * set `LOCAL_SERVERS=native`. `docs/reference/bounds.md` quotes its figures.
 */
import { readdirSync, statSync } from "node:fs";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";

import { Redis } from "ioredis";
import pg from "pg";

import { deposit, startAcceptHarness, statusOf, type AcceptHarness } from "./accept-harness.ts";

const STATE_DIR = path.resolve(import.meta.dirname, "../../.local/bench-storage");
const DEPOSITS = Number(process.env["BENCH_DEPOSITS"] ?? 20_000);
const CONCURRENT_DEPOSITS = 64;
/**
 * Deposits before the measurement. They are not counted, because they allocate database pages that
 * later deposits share.
 */
const WARM_UP_DEPOSITS = 2_000;
const FINAL_POLL_MS = 100;
const FINAL_DEADLINE_MS = 60_000;
/** Usage, settlements and webhooks' events are written a moment after a command is final. */
const SETTLE_MS = 5_000;
const PARTITION_FOLDER = /^(?<topic>.+)-\d+$/;
/** `{b07}:claim:<id>` and `{b07}:usage`: the kind is the word after the hash tag. */
const KEY_KIND = /^\{b\d\d\}:(?<kind>[a-z]+)/;
const SCAN_COUNT = 1_000;

type Sizes = ReadonlyMap<string, number>;

/** Sends deposits, waits until the last command has succeeded, and then for {@link SETTLE_MS}. */
async function makeDeposits(harness: AcceptHarness, count: number): Promise<void> {
  let left = count;
  let last = "";
  const loop = async (): Promise<void> => {
    while (left > 0) {
      left -= 1;
      last = await deposit(harness);
    }
  };
  await Promise.all(Array.from({ length: CONCURRENT_DEPOSITS }, loop));
  const deadlineMs = performance.now() + FINAL_DEADLINE_MS;
  while ((await statusOf(harness, last)) !== "succeeded") {
    if (performance.now() > deadlineMs) throw new Error(`command ${last} did not succeed in ${FINAL_DEADLINE_MS} ms`);
    await delay(FINAL_POLL_MS);
  }
  await delay(SETTLE_MS);
}

/**
 * Bytes of each table with its indexes, by `schema.table`. The size of a partition is added to its
 * parent table.
 */
async function tableSizes(url: string): Promise<Sizes> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query("vacuum");
    const { rows } = await client.query<{ name: string; bytes: string }>(
      `select n.nspname || '.' || coalesce(parent.relname, c.relname) as name, sum(pg_total_relation_size(c.oid)) as bytes
       from pg_class c join pg_namespace n on n.oid = c.relnamespace
         left join pg_inherits i on i.inhrelid = c.oid left join pg_class parent on parent.oid = i.inhparent
       where c.relkind = 'r' and n.nspname not in ('pg_catalog', 'information_schema') group by 1`,
    );
    return new Map(rows.map(({ name, bytes }) => [name, Number(bytes)]));
  } finally {
    await client.end();
  }
}

/** Bytes of the log of each topic on the broker's disk. */
function topicSizes(): Sizes {
  const folder = path.join(STATE_DIR, "kafka", "data");
  const sizes = new Map<string, number>();
  for (const partition of readdirSync(folder)) {
    const topic = PARTITION_FOLDER.exec(partition)?.groups?.["topic"];
    if (topic === undefined || topic.startsWith("__")) continue;
    const files = readdirSync(path.join(folder, partition)).filter((file) => file.endsWith(".log"));
    const bytes = files.reduce((sum, file) => sum + statSync(path.join(folder, partition, file)).size, 0);
    sizes.set(topic, (sizes.get(topic) ?? 0) + bytes);
  }
  return sizes;
}

/** Bytes of memory, by kind of key. */
async function keySizes(url: string): Promise<Sizes> {
  const redis = new Redis(url);
  const sizes = new Map<string, number>();
  try {
    for await (const page of redis.scanStream({ count: SCAN_COUNT })) {
      const keys = page as string[];
      const bytes = await Promise.all(keys.map((key) => redis.memory("USAGE", key)));
      for (const [index, key] of keys.entries()) {
        const kind = KEY_KIND.exec(key)?.groups?.["kind"] ?? key;
        sizes.set(kind, (sizes.get(kind) ?? 0) + (bytes[index] ?? 0));
      }
    }
    return sizes;
  } finally {
    redis.disconnect();
  }
}

interface Storage {
  readonly title: string;
  readonly sizes: Sizes;
}

async function storageOf({ stack }: AcceptHarness): Promise<readonly Storage[]> {
  const { postgresUrl, redisUrl } = stack.servers;
  return [
    { title: "PostgreSQL, table with its indexes", sizes: await tableSizes(postgresUrl) },
    { title: "Kafka, one replica", sizes: topicSizes() },
    { title: "Redis, kind of key", sizes: await keySizes(redisUrl) },
  ];
}

const harness = await startAcceptHarness(STATE_DIR, {});
try {
  await makeDeposits(harness, WARM_UP_DEPOSITS);
  const before = await storageOf(harness);
  await makeDeposits(harness, DEPOSITS);
  const after = await storageOf(harness);
  console.log(`bytes per deposit, over ${DEPOSITS} deposits`);
  for (const [index, { title, sizes }] of after.entries()) {
    console.log(`\n${title}`);
    for (const [name, bytes] of [...sizes].toSorted(([left], [right]) => left.localeCompare(right))) {
      const grown = (bytes - (before[index]?.sizes.get(name) ?? 0)) / DEPOSITS;
      if (Math.round(grown) !== 0)
        console.log(`  ${name.padEnd(44)} ${Math.round(grown).toLocaleString("en").padStart(7)}`);
    }
  }
} finally {
  await harness.stop();
}
