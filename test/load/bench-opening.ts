/**
 * `npm run bench -- opening`: how long the sync of one wallet shard blocks Redis, and how much
 * memory the sync needs. The shard has BENCH_WALLETS (200,000) wallets, and one of these wallets
 * has BENCH_RESERVATIONS (200,000) open reservations. The sync writes all wallets and reservations
 * to an empty Redis. The benchmark prints:
 *
 * - how long calls blocked Redis (p50, p99, longest), and how long this process waited for the
 *   slowest call;
 * - how long the sync held the lock of the shard;
 * - the largest heap of this process.
 */
import { rmSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

import { startPool, migrate, statement } from "@kapi/postgres";
import { ADMISSION_LIBRARY, syncShard } from "@kapi/admission/redis";
import { startRedis, type RedisConnection } from "@kapi/redis";
import { createLogger } from "@kapi/runtime";
import { createDatabase, databaseUrl, printedReport, startServers, stopRecorded } from "@kapi/servers";
import { Redis } from "ioredis";

import { readForSync } from "../../services/organization/src/outbound/postgres/credits/wallets.ts";

const MIGRATIONS = fileURLToPath(new URL("../../services/organization/migrations", import.meta.url));
const STATE_DIR = path.resolve(import.meta.dirname, "../../.local/bench-opening");
const DATABASE = "bench";
const WALLETS = Number(process.env["BENCH_WALLETS"] ?? 200_000);
const RESERVATIONS = Number(process.env["BENCH_RESERVATIONS"] ?? 200_000);
/** The number of the wallet shard. */
const TAG = 7;
const STATEMENT_TIMEOUT_MS = 120_000;
const BYTES_PER_MIB = 1024 * 1024;

const fill = [
  `insert into organizations select gen_random_uuid(), 'Bench', now() from generate_series(1, ${WALLETS})`,
  `insert into wallets (organization_id, id, tag, low_balance_threshold, created_at, updated_at)
   select id, id, ${TAG}, 0, now(), now() from organizations`,
  `insert into open_reservations (charge_id, organization_id, credits, at)
   select gen_random_uuid(), (select min(organization_id::text)::uuid from wallets), 1, now()
   from generate_series(1, ${RESERVATIONS})`,
  `analyze`,
];

function at(durationsMs: readonly number[], share: number): string {
  const sorted = durationsMs.toSorted((a, b) => a - b);
  return (sorted[Math.ceil(sorted.length * share) - 1] ?? 0).toFixed(1);
}

// Stops the processes of a killed run first. Each run starts with empty servers.
await stopRecorded(path.join(STATE_DIR, "servers"));
rmSync(STATE_DIR, { recursive: true, force: true });
const servers = await startServers({ stateDir: STATE_DIR, report: printedReport() });
await createDatabase(servers.postgresUrl, DATABASE);
const postgresUrl = databaseUrl(servers.postgresUrl, DATABASE);
const logger = createLogger({ service: "bench-opening", level: "warn" });
const options = { connectionString: postgresUrl, schema: "organization", logger };
await migrate({ ...options, directory: MIGRATIONS });
const { value: database, stop: stopDatabase } = await startPool({
  ...options,
  applicationName: "bench-opening",
  statementTimeoutMs: STATEMENT_TIMEOUT_MS,
});
const { value: redis, stop: stopRedis } = await startRedis({
  url: servers.redisUrl,
  clientName: "bench-opening",
  functionLibraries: [ADMISSION_LIBRARY],
  logger,
});
const inspector = new Redis(servers.redisUrl);
try {
  for (const [index, text] of fill.entries()) await database.query(statement(`bench_fill_${index}`, text), []);
  await inspector.config("SET", "slowlog-log-slower-than", "0", "slowlog-max-len", "100000");
  await inspector.slowlog("RESET");
  const durations: number[] = [];
  let heapMiB = 0;
  const measuring: RedisConnection = {
    ...redis,
    call: async (name, keys, args) => {
      const beganMs = performance.now();
      const reply = await redis.call(name, keys, args);
      durations.push(performance.now() - beganMs);
      heapMiB = Math.max(heapMiB, process.memoryUsage().heapUsed / BYTES_PER_MIB);
      return reply;
    },
  };
  const beganMs = performance.now();
  const lockedMs: number[] = [];
  const outcome = await readForSync(database, TAG, (epoch, wallets) => {
    lockedMs.push(performance.now() - beganMs);
    return syncShard(measuring, TAG, epoch, wallets);
  });
  const tookMs = performance.now() - beganMs;
  const entries = (await inspector.slowlog("GET", "100000")) as [number, number, number, string[]][];
  const inRedisMs = entries
    .filter(([, , , [name]]) => name?.toLowerCase() === "fcall")
    .map(([, , micros]) => micros / 1_000);
  console.log(`${outcome}: ${WALLETS} wallets and ${RESERVATIONS} reservations of one shard in ${durations.length} calls and ${tookMs.toFixed(0)} ms
the shard's lock was held for ${(lockedMs[0] ?? 0).toFixed(0)} ms
a call blocked Redis for ${at(inRedisMs, 0.5)} ms (p50), ${at(inRedisMs, 0.99)} ms (p99), at most ${at(inRedisMs, 1)} ms; this process waited for a call at most ${Math.max(...durations).toFixed(1)} ms
the heap had ${heapMiB.toFixed(0)} MiB at most`);
} finally {
  inspector.disconnect();
  await stopRedis();
  await stopDatabase();
  await servers.stop();
}
