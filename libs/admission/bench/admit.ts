/**
 * Measures the cost of the admission function: `REDIS_URL=redis://… node
 * libs/admission/bench/admit.ts`. It needs a separate Redis, whose database 15 it empties. Each
 * kind of request is measured with one and with ten requests of an organization per call. The
 * output has: requests/s of this process, the time of Redis in the function per request, and the
 * processor time of Redis per request. The processor time includes reading the call and writing
 * the reply; its inverse is the capacity of one core of Redis. The time in the function includes
 * waits for a processor.
 */
import { randomUUID } from "node:crypto";

import { createLogger } from "@kapi/runtime";

import { startRedis } from "@kapi/redis";
import {
  ADMISSION_LIBRARY,
  ALL_SHARDS,
  type AdmitRequest,
  admitAll,
  syncShard,
  purchase,
  shardOf,
} from "../src/redis/index.ts";

const REQUESTS = 40_000;
const IN_FLIGHT = 200;
/** About the size of a batch in one turn of a busy gateway. */
const BATCH_SIZE = 10;
const MICROSECONDS_PER_SECOND = 1_000_000;
const ORGANIZATIONS = 50;
/** About the size of a deposit's command message. */
const MESSAGE = JSON.stringify({ filling: "x".repeat(650) });

const logger = createLogger({ service: "bench", level: "error" });
const url = new URL(process.env["REDIS_URL"] ?? "redis://127.0.0.1:6379");
url.pathname = "/15";
const { value: redis, stop } = await startRedis({
  url: url.href,
  clientName: "bench",
  functionLibraries: [ADMISSION_LIBRARY],
  logger,
  commandTimeoutMs: 60_000,
});
await redis.commands.flushdb();
await Promise.all(ALL_SHARDS.map((shard) => syncShard(redis, shard, 1, [])));
const organizationIds = Array.from({ length: ORGANIZATIONS }, () => randomUUID());
const wallet = { credits: 1_000_000_000, epoch: 1, lowBalanceThreshold: 0, createdAtMs: 1 };
for (const organizationId of organizationIds) {
  await purchase(redis, { ...wallet, organizationId, purchaseId: randomUUID(), walletId: randomUUID() });
}

function read(at: number): AdmitRequest {
  return {
    callerName: "aaaaaaaaaaaaaaaa",
    organizationId: organizationIds[at % ORGANIZATIONS] ?? "",
    chargeId: randomUUID(),
    mode: "consume",
    price: 1,
    readPrice: 1,
    operation: "getCommand",
    requestId: randomUUID(),
    rateLimit: null,
    records: [],
  };
}

function mutation(at: number): AdmitRequest {
  const records = [{ commandId: randomUUID(), fingerprint: "f".repeat(64), message: MESSAGE, credits: 5 }];
  return { ...read(at), mode: "reserve", operation: "depositAccountFunds", records };
}

async function measure(name: string, batchSize: number, request: (at: number) => AdmitRequest): Promise<void> {
  await redis.commands.config("RESETSTAT");
  const cpuBefore = await processorSeconds();
  const startedMs = performance.now();
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < REQUESTS) {
      const at = next;
      next += batchSize;
      const requests = Array.from({ length: batchSize }, () => request(at));
      const settings = { recordOpenMs: 5_000, usageStreamLimit: 10_000_000 };
      for (const { kind } of await admitAll(redis, shardOf(requests[0]?.organizationId ?? ""), requests, settings)) {
        if (kind !== "admitted") throw new Error(`not admitted: ${kind}`);
      }
    }
  };
  await Promise.all(Array.from({ length: IN_FLIGHT / batchSize }, worker));
  const seconds = (performance.now() - startedMs) / 1_000;
  const cpuMicroseconds = (((await processorSeconds()) - cpuBefore) * MICROSECONDS_PER_SECOND) / REQUESTS;
  const stats = await redis.commands.info("commandstats");
  const inFunction = Number(/cmdstat_fcall:[^\r]*usec=(\d+)/.exec(stats)?.[1]) / REQUESTS;
  const capacity = Math.round(MICROSECONDS_PER_SECOND / cpuMicroseconds);
  console.log(
    `${name}, ${batchSize} in a call: ${Math.round(REQUESTS / seconds)}/s from one process; ${inFunction.toFixed(1)} us in the function, ` +
      `${cpuMicroseconds.toFixed(1)} us of processor in all: ${capacity}/s on one core`,
  );
}

async function processorSeconds(): Promise<number> {
  const cpu = await redis.commands.info("cpu");
  const of = (name: string): number => Number(new RegExp(`${name}:([\\d.]+)`).exec(cpu)?.[1]);
  return of("used_cpu_user") + of("used_cpu_sys");
}

for (const batchSize of [1, BATCH_SIZE]) {
  await measure("read", batchSize, read);
  await measure("read with rate limit", batchSize, (at) => ({
    ...read(at),
    rateLimit: { perSecond: 1_000_000, burst: 1_000_000 },
  }));
  await measure("mutation, one record", batchSize, mutation);
}
await stop();
