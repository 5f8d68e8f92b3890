/**
 * `npm run bench:accept`: how fast requests are accepted and done, beside a bare loop and BullMQ, in one run. Starts
 * servers and services of its own; `BENCH_TELEMETRY=on` has them traced and measured. Everything, this load generator
 * too, shares the machine: the ratios count.
 */
import { randomUUID } from "node:crypto";
import { rmSync } from "node:fs";
import path from "node:path";
import { type CommandEvent, isFinal, TOPICS } from "@kapi/contracts";
import { createKafka, createLogReader } from "@kapi/kafka";
import { type Demo, makeDemo, printedReport, type Stack, startStack, stopRecorded } from "@kapi/local";
import { createLogger } from "@kapi/runtime";
import { Pool } from "undici";

import { closedLoop, type Figures, figuresOf, line } from "./measure.ts";
import { startProcess } from "./process.ts";
import { microsecondsEach, processorTimes } from "./processor-time.ts";
import { benchTelemetry } from "./telemetry.ts";
import { usageStreamOf } from "./usage-stream.ts";

const STATE_DIR = path.resolve(import.meta.dirname, "../../.local/bench");
const CONCURRENCY = 64;
const ACCOUNTS = 256;
/** Every process compiles its hot code meanwhile; with less, all figures are those of cold processes. */
const WARM_UP_MS = 15_000;
const MEASURE_MS = Number(process.env["BENCH_MEASURE_MS"] ?? 15_000);
const STEADY_PER_SECOND = 50;
/** With the usage stream and without it, in this order, so that what changes slowly meets both alike. */
const STREAM_TURNS = [true, false, false, true, true, false, false, true];
const STREAM_TURN_MS = MEASURE_MS / 2;
const STREAM_TURN_WARM_UP_MS = 1_000;
/** An account's balance holds this many deposits of one cent and far more. */
const INITIAL_BALANCE = 1_000;

/** Everything that the phases share. */
interface Bench {
  readonly stack: Stack;
  readonly demo: Demo;
  readonly api: Pool;
  readonly authorization: string;
  readonly accounts: readonly string[];
  readonly finals: FinalEvents;
}

/** Resolves when the final event of a command was read from Kafka. */
interface FinalEvents {
  wait(commandId: string): Promise<void>;
}

async function post<T>(pool: Pool, path: string, headers: Record<string, string>, body: object): Promise<T> {
  const answer = await pool.request({
    method: "POST",
    path,
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  });
  const text = await answer.body.text();
  if (answer.statusCode > 299) throw new Error(`${path} answered ${answer.statusCode} ${text}`);
  return JSON.parse(text) as T;
}

async function get<T>(bench: Bench, path: string): Promise<T> {
  const headers = { authorization: bench.authorization };
  const answer = await bench.api.request({ method: "GET", path: `/api/v1/management${path}`, headers });
  const text = await answer.body.text();
  if (answer.statusCode !== 200) throw new Error(`${path} answered ${answer.statusCode} ${text}`);
  return JSON.parse(text) as T;
}

async function deposit(bench: Bench): Promise<string> {
  const account = bench.accounts[Math.floor(Math.random() * bench.accounts.length)] ?? "";
  const path = `/api/v1/management/servers/${bench.demo.serverId}/accounts/${account}/finance/deposits`;
  const headers = { authorization: bench.authorization, "idempotency-key": randomUUID() };
  const { command } = await post<{ command: { id: string } }>(bench.api, path, headers, {
    amount: 0.01,
    requestId: "bench",
  });
  return command.id;
}

async function statusOf(bench: Bench, commandId: string): Promise<string> {
  return (await get<{ command: { status: string } }>(bench, `/commands/${commandId}`)).command.status;
}

async function openAccounts(demo: Demo, api: Pool): Promise<string[]> {
  const headers = { authorization: `Management ${demo.managementKey}` };
  const path = `/api/v1/management/servers/${demo.serverId}/accounts`;
  const ids = await Promise.all(
    Array.from({ length: ACCOUNTS }, async () => {
      const body = { accountName: "Bench", initialBalance: INITIAL_BALANCE, leverage: 100, requestId: "bench" };
      const key = { ...headers, "idempotency-key": randomUUID() };
      return (await post<{ command: { id: string } }>(api, path, key, body)).command.id;
    }),
  );
  return Promise.all(
    ids.map(async (id) => {
      for (;;) {
        const answer = await api.request({ method: "GET", path: `/api/v1/management/commands/${id}`, headers });
        const { command } = (await answer.body.json()) as {
          command: { status: string; result: { accountNumber: string } | null };
        };
        if (command.result !== null) return command.result.accountNumber;
        if (command.status !== "queued" && command.status !== "leased") throw new Error(JSON.stringify(command));
      }
    }),
  );
}

async function readFinals(stack: Stack): Promise<{ finals: FinalEvents; stop: () => Promise<void> }> {
  const waiting = new Map<string, () => void>();
  const early = new Set<string>();
  const logger = createLogger({ service: "bench", level: "error" });
  const brokers = stack.servers.kafkaBrokers.split(",");
  const kafka = createKafka({ brokers, clientId: "bench", topicPrefix: stack.topicPrefix, logger });
  const reader = await createLogReader(kafka, {
    topic: TOPICS.commandEvents,
    from: "beginning",
    logger,
    fatal: (error) => {
      throw error;
    },
    onBatch: (_partition, messages) => {
      for (const message of messages) {
        const event = JSON.parse(message.value.toString("utf8")) as CommandEvent;
        if (!isFinal(event.status)) continue;
        const resolve = waiting.get(event.commandId);
        if (resolve === undefined) early.add(event.commandId);
        else resolve();
        waiting.delete(event.commandId);
      }
    },
  });
  const wait = (commandId: string): Promise<void> => {
    if (early.delete(commandId)) return Promise.resolve();
    return new Promise((resolve) => waiting.set(commandId, resolve));
  };
  return { finals: { wait }, stop: reader.stop };
}

/** (d): one deposit every 20 ms; each is asked for until it is `succeeded`. */
async function steady(bench: Bench): Promise<Figures> {
  const latenciesMs: number[] = [];
  const running: Promise<void>[] = [];
  const startedMs = performance.now();
  const total = Math.ceil((STEADY_PER_SECOND * (WARM_UP_MS + MEASURE_MS)) / 1000);
  for (let index = 0; index < total; index += 1) {
    const dueMs = startedMs + (index * 1000) / STEADY_PER_SECOND;
    await new Promise((resolve) => setTimeout(resolve, Math.max(0, dueMs - performance.now())));
    running.push(
      (async () => {
        const id = await deposit(bench);
        const acceptedMs = performance.now();
        let status = await statusOf(bench, id);
        while (status !== "succeeded") {
          if (status === "failed" || status === "expired") throw new Error(`deposit ${id} ended ${status}`);
          status = await statusOf(bench, id);
        }
        if (dueMs - startedMs >= WARM_UP_MS) latenciesMs.push(performance.now() - acceptedMs);
      })(),
    );
  }
  await Promise.all(running);
  return figuresOf(latenciesMs, MEASURE_MS);
}

const load = (call: () => Promise<unknown>): Promise<Figures> =>
  closedLoop({ concurrency: CONCURRENCY, warmUpMs: WARM_UP_MS, measureMs: MEASURE_MS, call });

/** Runs a phase and prints what one call cost each process, warm-up included: that is what bounds it. */
async function withCosts(stack: Stack, call: () => Promise<unknown>): Promise<Figures> {
  let calls = 0;
  const before = processorTimes(pidsOf(stack));
  const figures = await load(async () => {
    await call();
    calls += 1;
  });
  console.log(`    processor time per call, µs: ${microsecondsEach(before, processorTimes(pidsOf(stack)), calls)}`);
  return figures;
}

function pidsOf(stack: Stack): Map<string, number> {
  const pids = new Map([["load generator", process.pid]]);
  for (const [name, { pid }] of stack.processes) if (pid !== null) pids.set(name, pid);
  return pids;
}

/** (g): accepted deposits with the usage stream, and without it. */
async function withAndWithoutStream(bench: Bench): Promise<[on: Figures, off: Figures]> {
  const stream = usageStreamOf(bench.stack.servers.redisUrl);
  const turns: { readonly isOn: boolean; readonly figures: Figures }[] = [];
  for (const isOn of STREAM_TURNS) {
    await stream.set(isOn);
    const call = (): Promise<unknown> => deposit(bench);
    const turn = { concurrency: CONCURRENCY, warmUpMs: STREAM_TURN_WARM_UP_MS, measureMs: STREAM_TURN_MS, call };
    turns.push({ isOn, figures: await closedLoop(turn) });
  }
  stream.close();
  const of = (isOn: boolean): Figures => {
    const own = turns.filter((turn) => turn.isOn === isOn).map(({ figures }) => figures);
    const mean = (value: (figures: Figures) => number): number =>
      own.reduce((sum, figures) => sum + value(figures), 0) / own.length;
    return {
      perSecond: mean(({ perSecond }) => perSecond),
      p50Ms: mean(({ p50Ms }) => p50Ms),
      p99Ms: mean(({ p99Ms }) => p99Ms),
      count: own.reduce((sum, { count }) => sum + count, 0),
    };
  };
  return [of(true), of(false)];
}

async function bareLoop(environment: Record<string, string>): Promise<Figures> {
  const bare = await startProcess<{ url: string }>("bare-loop.ts", [], environment);
  const pool = new Pool(bare.hello.url, { connections: CONCURRENCY });
  const figures = await load(() =>
    post(pool, "/bare", {}, { amount: 0.01, requestId: "bench", description: randomUUID() }),
  );
  await pool.close();
  await bare.stop();
  return figures;
}

async function bullmq(environment: Record<string, string>): Promise<Figures> {
  const worker = await startProcess("bullmq-peer.ts", ["worker"], environment);
  const route = await startProcess<{ url: string }>("bullmq-peer.ts", ["route"], environment);
  const { QueueEvents } = await import("bullmq");
  const redis = new URL(environment["REDIS_URL"] ?? "");
  const done = new Map<string, () => void>();
  const early = new Set<string>();
  const events = new QueueEvents("deposits", { connection: { host: redis.hostname, port: Number(redis.port) } });
  events.on("completed", ({ jobId }) => {
    const resolve = done.get(jobId);
    if (resolve === undefined) early.add(jobId);
    else resolve();
    done.delete(jobId);
  });
  await events.waitUntilReady();
  const pool = new Pool(route.hello.url, { connections: CONCURRENCY });
  const figures = await load(async () => {
    const commandId = randomUUID();
    const accountNumber = String(Math.floor(Math.random() * ACCOUNTS));
    await post(pool, "/deposits", {}, { accountNumber, amountMinor: 1, commandId });
    if (!early.delete(commandId)) await new Promise<void>((resolve) => done.set(commandId, resolve));
  });
  await events.close();
  await pool.close();
  await route.stop();
  await worker.stop();
  return figures;
}

async function measure(bench: Bench, environment: Record<string, string>): Promise<void> {
  const ids = await Promise.all(Array.from({ length: 100 }, () => deposit(bench)));
  const report: string[] = [];
  const say = (label: string, figures: Figures): Figures => {
    report.push(line(label, figures));
    console.log(report.at(-1));
    return figures;
  };
  const a = say("(a) bare loop: Fastify + one Redis call + one batched publish", await bareLoop(environment));
  const b = say("(b) POST deposit, workers running: accepted", await withCosts(bench.stack, () => deposit(bench)));
  const c = say(
    "(c) GET command",
    await withCosts(bench.stack, () => statusOf(bench, ids[Math.floor(Math.random() * 100)] ?? "")),
  );
  const d = say(`(d) from 202 to succeeded at ${STEADY_PER_SECOND}/s`, await steady(bench));
  const e = say(
    `(e) deposits accepted and succeeded, ${CONCURRENCY} in flight`,
    await withCosts(bench.stack, async () => bench.finals.wait(await deposit(bench))),
  );
  const [on, off] = await withAndWithoutStream(bench);
  say("(g) POST deposit, with the usage stream, means of its turns", on);
  say("    the same without the usage stream", off);
  const f = say("(f) BullMQ, the same ledger work, AOF everysec", await bullmq(environment));
  console.log(`
(b)/(a) = ${(b.perSecond / a.perSecond).toFixed(2)}   aim >= 0.40
(c)     = ${Math.round(c.perSecond)}/s   aim >= 6000/s
(d)     p50 = ${d.p50Ms.toFixed(1)} ms   aim < 30 ms
(e)/(f) = ${(e.perSecond / f.perSecond).toFixed(2)}   aim >= 1.50
(g)     = ${(on.perSecond / off.perSecond).toFixed(2)} of the rate without the usage stream   aim >= 0.90`);
}

// Each run begins with nothing; what a killed run left behind is ended first.
await stopRecorded(STATE_DIR);
rmSync(STATE_DIR, { recursive: true, force: true });
const telemetry = await benchTelemetry();
const stack = await startStack({
  stateDir: STATE_DIR,
  report: printedReport(),
  env: { all: telemetry.environment },
});
try {
  const demo = await makeDemo(stack, { credits: 1_000_000_000, autoTraders: 0 });
  const api = new Pool(demo.baseUrl, { connections: CONCURRENCY });
  const accounts = await openAccounts(demo, api);
  const { finals, stop } = await readFinals(stack);
  const bench = { stack, demo, api, authorization: `Management ${demo.managementKey}`, accounts, finals };
  await measure(bench, {
    REDIS_URL: stack.servers.redisUrl,
    POSTGRES_URL: stack.servers.postgresUrl,
    KAFKA_BROKERS: stack.servers.kafkaBrokers,
    KAFKA_TOPIC_PREFIX: stack.topicPrefix,
  });
  await stop();
  await api.close();
} finally {
  await stack.stop();
  await telemetry.stop();
}
