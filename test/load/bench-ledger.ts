/**
 * `npm run bench -- ledger`: measures whether the credit ledger keeps up with the usage streams.
 * It writes entries to the 64 streams at a fixed rate, and the organization service moves the
 * entries into PostgreSQL. It starts services, and servers unless the environment names servers.
 * It prints the number of recorded entries and the age of the oldest waiting entry, and at the
 * end the processor time of every process. BENCH_LEDGER_PER_SECOND (default 10,000) and
 * BENCH_MEASURE_MS (default 60,000) set the load.
 */
import { rmSync } from "node:fs";
import path from "node:path";

import { uuidV7 } from "@kapi/kernel";
import { createOrganization, type Stack, startStack } from "@kapi/local";
import { printedReport, stopRecorded } from "@kapi/servers";
import { SHARD_COUNT, shardOf, usageKey, walletKey } from "@kapi/admission/redis";
import { Redis } from "ioredis";
import pg from "pg";

import { microsecondsEach, type ProcessorTimes, processorTimes } from "./processor-time.ts";

const STATE_DIR = path.resolve(import.meta.dirname, "../../.local/bench-ledger");
const PER_SECOND = Number(process.env["BENCH_LEDGER_PER_SECOND"] ?? 10_000);
const MEASURE_MS = Number(process.env["BENCH_MEASURE_MS"] ?? 60_000);
/** Organizations are created until each stream has one. */
const STREAMS = SHARD_COUNT;
const CREDITS = 1_000_000_000;
const TICK_MS = 20;
const SAMPLE_MS = 100;
const REPORT_MS = 10_000;
const DRAIN_TIMEOUT_MS = 120_000;

/**
 * Charges as the admission function does, but many times in one call, so that the load generator
 * needs little processor time. `keys`: the wallet, the usage stream. `args`: the organization, then
 * the charge ids.
 */
const CHARGE = `#!lua name=kapi_bench
redis.register_function('kapi_bench_charge', function(keys, args)
  local count = #args - 1
  redis.call('HINCRBY', keys[1], 'available', -count)
  redis.call('HINCRBY', keys[1], 'consumed', count)
  for i = 2, #args do
    redis.call('XADD', keys[2], '*', 'entry', 'consume 1 ' .. args[i] .. ' ' .. args[1] .. ' getTradingAccount ' .. args[i])
  end
  return count
end)`;

interface Bench {
  readonly stack: Stack;
  readonly redis: Redis;
  readonly database: pg.Client;
  readonly organizationIds: readonly string[];
  readonly streams: readonly string[];
}

/** The entries that wait in the streams. */
interface Waiting {
  readonly entries: number;
  /** Age of the oldest entry; 0 without entries. */
  readonly oldestMs: number;
}

async function waiting({ redis, streams }: Bench): Promise<Waiting> {
  const reading = redis.pipeline();
  for (const stream of streams) reading.xlen(stream).xrange(stream, "-", "+", "COUNT", 1);
  const replies = ((await reading.exec()) ?? []).map(([, reply]) => reply);
  const nowMs = Date.now();
  const lengths = replies.filter((reply): reply is number => typeof reply === "number");
  const heads = replies.filter((reply) => Array.isArray(reply)) as [string, string[]][][];
  const ages = heads.flatMap(([head]) => (head === undefined ? [] : [nowMs - Number(head[0].split("-")[0])]));
  return { entries: lengths.reduce((sum, length) => sum + length, 0), oldestMs: Math.max(0, ...ages) };
}

async function recorded({ database }: Bench): Promise<number> {
  const { rows } = await database.query<{ lines: string }>(
    "select sum(usage_lines) as lines from organization.wallets",
  );
  return Number(rows[0]?.lines ?? 0);
}

/**
 * Writes entries at the wanted rate until the time is over. A late tick writes the missed entries.
 * Returns the number of entries.
 */
async function write({ redis, organizationIds }: Bench): Promise<number> {
  const beganMs = performance.now();
  let written = 0;
  let turn = 0;
  for (;;) {
    const elapsedMs = performance.now() - beganMs;
    const due = Math.floor((Math.min(elapsedMs, MEASURE_MS) * PER_SECOND) / 1_000) - written;
    const calls: Promise<unknown>[] = [];
    const each = Math.ceil(due / organizationIds.length) || 1;
    for (let left = due; left > 0; left -= each) {
      const organizationId = organizationIds[(turn += 1) % organizationIds.length] ?? "";
      const shard = shardOf(organizationId);
      const ids = Array.from({ length: Math.min(each, left) }, () => uuidV7(Date.now()));
      const keys = [walletKey(shard, organizationId), usageKey(shard)];
      calls.push(redis.fcall("kapi_bench_charge", keys.length, ...keys, organizationId, ...ids));
    }
    await Promise.all(calls);
    written += due;
    if (elapsedMs >= MEASURE_MS) return written;
    await new Promise((resolve) => setTimeout(resolve, TICK_MS));
  }
}

function coresOf(before: ProcessorTimes, after: ProcessorTimes, overMs: number): string {
  return [...after]
    .map(([name, timeMs]) => ({ name, cores: (timeMs - (before.get(name) ?? 0)) / overMs }))
    .toSorted((a, b) => b.cores - a.cores)
    .map(({ name, cores }) => `${name} ${cores.toFixed(2)}`)
    .join("  ");
}

function pidsOf(stack: Stack): Map<string, number> {
  const pids = new Map([["load generator", process.pid]]);
  for (const [name, { pid }] of stack.processes) if (pid !== null) pids.set(name, pid);
  return pids;
}

async function measure(bench: Bench): Promise<void> {
  const samples: Waiting[] = [];
  const sampling = setInterval(() => void waiting(bench).then((sample) => samples.push(sample)), SAMPLE_MS);
  const reporting = setInterval(() => {
    const last = samples.at(-1);
    void recorded(bench).then((entries) =>
      console.log(
        `  ${entries.toLocaleString("en")} entries recorded, ${last?.entries} wait, the oldest for ${last?.oldestMs} ms`,
      ),
    );
  }, REPORT_MS);
  const before = processorTimes(pidsOf(bench.stack));
  const beganMs = performance.now();
  const written = await write(bench);
  const tookMs = performance.now() - beganMs;
  clearInterval(sampling);
  clearInterval(reporting);
  const entries = await recorded(bench);
  const after = processorTimes(pidsOf(bench.stack));
  const drainedMs = await drain(bench, written);
  const ages = samples.map(({ oldestMs }) => oldestMs).toSorted((a, b) => a - b);
  const at = (share: number): number => ages[Math.min(ages.length - 1, Math.floor(ages.length * share))] ?? 0;
  const perSecond = (count: number): string => Math.round((count * 1_000) / tookMs).toLocaleString("en");
  console.log(`
written  ${perSecond(written)} entries/s for ${(tookMs / 1_000).toFixed(0)} s
recorded ${perSecond(entries)} entries/s meanwhile; all ${written.toLocaleString("en")} were recorded ${drainedMs.toFixed(0)} ms after the measurement
lag      the oldest entry that waits: p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, at most ${at(1)} ms; at most ${Math.max(...samples.map(({ entries }) => entries))} wait
cores    ${coresOf(before, after, tookMs)}
processor time per entry, µs: ${microsecondsEach(before, after, entries)}`);
}

/** Milliseconds until the ledger has all entries. */
async function drain(bench: Bench, written: number): Promise<number> {
  const beganMs = performance.now();
  while ((await recorded(bench)) < written) {
    if (performance.now() - beganMs > DRAIN_TIMEOUT_MS) throw new Error("the ledger does not catch up");
    await new Promise((resolve) => setTimeout(resolve, TICK_MS));
  }
  return performance.now() - beganMs;
}

await stopRecorded(STATE_DIR);
rmSync(STATE_DIR, { recursive: true, force: true });
const services = ["organization", "command-status"];
const stack = await startStack({ stateDir: STATE_DIR, services, report: printedReport() });
try {
  const redis = new Redis(stack.servers.redisUrl, { enableAutoPipelining: true });
  const database = new pg.Client({ connectionString: stack.servers.postgresUrl });
  await database.connect();
  await redis.function("LOAD", "REPLACE", CHARGE);
  const organizationIds: string[] = [];
  const streams = new Set<string>();
  while (streams.size < STREAMS) {
    const { organizationId } = await createOrganization(stack, { name: "Bench", credits: CREDITS });
    organizationIds.push(organizationId);
    streams.add(usageKey(shardOf(organizationId)));
  }
  await measure({ stack, redis, database, organizationIds, streams: [...streams] });
  redis.disconnect();
  await database.end();
} finally {
  await stack.stop();
}
