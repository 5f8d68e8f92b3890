/**
 * `npm run bench -- accept`: how fast requests are accepted and executed. One run also measures a
 * bare loop (`bare-loop.ts`), BullMQ (`bullmq-peer.ts`) and the bare path (`bare-path`, the
 * design of kapi without its safety). It starts services, and servers unless the environment
 * names servers. `BENCH_TELEMETRY=on` turns on traces and metrics. `BENCH_TELEMETRY=compare`
 * measures their cost instead. The load generator and all processes share the machine, so only
 * the ratios are meaningful. The report names the measurements by letters:
 *
 * - (a) bare loop, and (b) accepted deposits.
 * - (c) reads of a command.
 * - (d) the time from the 202 to `succeeded`.
 * - (e) completed deposits, and (f) BullMQ.
 * - (g) accepted deposits, compared with those without the usage stream.
 */
import { randomUUID } from "node:crypto";
import path from "node:path";
import type { Stack } from "@kapi/local";
import { Pool } from "undici";

import {
  ACCOUNTS,
  CONCURRENCY,
  deposit,
  startAcceptHarness,
  post,
  repeatsSoFar,
  statusOf,
  type AcceptHarness,
} from "./accept-harness.ts";
import { type BarePath, startBarePath } from "./bare-path/index.ts";
import { compareTelemetry } from "./compare-telemetry.ts";
import { FinalCommands, readFinals } from "./final-commands.ts";
import { closedLoop, type Figures, figuresOf, line } from "./measure.ts";
import { startProcess } from "./process.ts";
import { microsecondsEach, type ProcessorTimes, processorTimes } from "./processor-time.ts";
import { benchTelemetry, SAMPLED_SHARE } from "./telemetry.ts";
import { type Competitor, takeTurns } from "./turns.ts";
import { usageStreamOf } from "./usage-stream.ts";

const STATE_DIR = path.resolve(import.meta.dirname, "../../.local/bench");
/**
 * Warm-up of kapi and of the bare path. Java compiles for most of a minute: in the first 10 s a
 * deposit takes four times as much processor time of the broker as later.
 */
const FIRST_WARM_UP_MS = 45_000;
/** Warm-up of (d), and of each competitor of (b) and (e): their processes compile hot code. */
const WARM_UP_MS = 15_000;
const MEASURE_MS = Number(process.env["BENCH_MEASURE_MS"] ?? 15_000);
/** Warm-up of (c): longer than {@link WARM_UP_MS}, because no earlier phase runs code of reads. */
const READ_WARM_UP_MS = 2 * WARM_UP_MS;
const STEADY_PER_SECOND = 50;
/** Duration of one turn of a competitor. */
const TURN_MS = MEASURE_MS / 2;
const TURN_WARM_UP_MS = 1_000;
/**
 * Measured time while the workers are paused, and the warm-up before it. Together they are shorter
 * than the session timeout of consumer groups.
 */
const PAUSED_MS = 5_000;
const PAUSED_WARM_UP_MS = 1_000;
/** The services that a deposit passes before its 202. */
const PASSED_BEFORE_202 = new Set(["gateway", "command-status"]);

/** The resources that all phases share. */
interface Bench extends AcceptHarness {
  /** Gets each final event that is read from Kafka. */
  readonly finals: FinalCommands;
}

/** (d): one deposit every 20 ms. Each is polled until it is `succeeded`. */
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

/** Processor time of each process for the calls of a phase. Processor time limits the rate. */
class Costs {
  readonly #stack: Stack;
  readonly #usedMs = new Map<string, number>();
  #before: ProcessorTimes = new Map();
  #calls = 0;

  constructor(stack: Stack) {
    this.#stack = stack;
  }

  /** Returns `call` with a counter of its calls. */
  of(call: () => Promise<unknown>): () => Promise<void> {
    return async () => {
      await call();
      this.#calls += 1;
    };
  }

  begin(): void {
    this.#before = processorTimes(pidsOf(this.#stack));
  }

  end(): void {
    for (const [name, timeMs] of processorTimes(pidsOf(this.#stack))) {
      this.#usedMs.set(name, (this.#usedMs.get(name) ?? 0) + timeMs - (this.#before.get(name) ?? 0));
    }
  }

  print(): void {
    console.log(`    processor time per call, µs: ${microsecondsEach(new Map(), this.#usedMs, this.#calls)}`);
  }
}

/** Measures reads, and prints the processor time of each process per read, including warm-up. */
async function reads(stack: Stack, call: () => Promise<unknown>): Promise<Figures> {
  const costs = new Costs(stack);
  costs.begin();
  const options = { concurrency: CONCURRENCY, warmUpMs: READ_WARM_UP_MS, measureMs: MEASURE_MS };
  const figures = await closedLoop({ ...options, call: costs.of(call) });
  costs.end();
  costs.print();
  return figures;
}

/**
 * Measures `kapi` and other competitors in turns. The first turn of each starts with `warmUpMs` of
 * warm-up. Prints the processor time of each process per call of `kapi`, including warm-up.
 */
async function inTurns<Name extends string>(
  stack: Stack,
  competitors: Readonly<Record<Name | "kapi", Competitor>>,
  warmUpMs = WARM_UP_MS,
): Promise<Record<Name | "kapi", Figures>> {
  const costs = new Costs(stack);
  const { kapi } = competitors;
  const measured: Competitor = {
    call: costs.of(kapi.call),
    before: async () => {
      await kapi.before?.();
      costs.begin();
    },
    after: async () => {
      await kapi.after?.();
      costs.end();
    },
  };
  const turns = { concurrency: CONCURRENCY, warmUpMs, turnWarmUpMs: TURN_WARM_UP_MS, turnMs: TURN_MS };
  const figures = await takeTurns({ ...competitors, kapi: measured }, turns);
  costs.print();
  return figures;
}

function pidsOf(stack: Stack): Map<string, number> {
  const pids = new Map([["load generator", process.pid]]);
  for (const [name, { pid }] of stack.processes) if (pid !== null) pids.set(name, pid);
  return pids;
}

/**
 * (b) while all services except {@link PASSED_BEFORE_202} are paused: the rate of the path to the
 * 202 if workers had separate processors. Then the rate at which the workers execute the accepted
 * commands.
 */
async function withWorkersPaused(bench: Bench): Promise<{ accepted: Figures; executedPerSecond: number }> {
  const workers = [...bench.stack.processes].filter(([name]) => !PASSED_BEFORE_202.has(name)).map(([, { pid }]) => pid);
  const signal = (name: "SIGSTOP" | "SIGCONT"): void => {
    for (const pid of workers) if (pid !== null) process.kill(pid, name);
  };
  const pending: Promise<void>[] = [];
  signal("SIGSTOP");
  let accepted: Figures;
  try {
    const turn = { concurrency: CONCURRENCY, warmUpMs: PAUSED_WARM_UP_MS, measureMs: PAUSED_MS };
    accepted = await closedLoop({
      ...turn,
      call: async () => void pending.push(bench.finals.wait(await deposit(bench))),
    });
  } finally {
    signal("SIGCONT");
  }
  const resumedMs = performance.now();
  await Promise.all(pending);
  return { accepted, executedPerSecond: (pending.length * 1000) / (performance.now() - resumedMs) };
}

/** Starts the bare path with the same warm-up as kapi. */
async function startWarmBarePath(environment: Record<string, string>): Promise<BarePath> {
  const barePath = await startBarePath(environment);
  const warmUp = { concurrency: CONCURRENCY, warmUpMs: FIRST_WARM_UP_MS, measureMs: 0 };
  await closedLoop({ ...warmUp, call: async () => barePath.ended(await barePath.deposit()) });
  return barePath;
}

/**
 * A call is a deposit until its 202. After a turn, the competitor waits until all deposits of the
 * turn are final, so that no work remains for the turn of another competitor.
 */
function accepting(accept: () => Promise<string>, ended: (commandId: string) => Promise<void>): Competitor {
  let pending: Promise<void>[] = [];
  return {
    call: async () => void pending.push(ended(await accept())),
    after: async () => {
      await Promise.all(pending);
      pending = [];
    },
  };
}

/** (b) in turns with (a) and the bare path. */
async function besideBareLoop(
  bench: Bench,
  environment: Record<string, string>,
): Promise<Record<"kapi" | "bareLoop" | "barePath", Figures>> {
  const loop = await startProcess<{ url: string }>("bare-loop.ts", [], environment);
  const barePath = await startWarmBarePath(environment);
  const pool = new Pool(loop.hello.url, { connections: CONCURRENCY });
  const figures = await inTurns(bench.stack, {
    bareLoop: { call: () => post(pool, "/bare", {}, { amount: 0.01, requestId: "bench", description: randomUUID() }) },
    kapi: accepting(
      () => deposit(bench),
      (commandId) => bench.finals.wait(commandId),
    ),
    barePath: accepting(barePath.deposit, barePath.ended),
  });
  await pool.close();
  await barePath.stop();
  await loop.stop();
  return figures;
}

/** (g): accepted deposits with and without the usage stream. */
async function withAndWithoutStream(bench: Bench): Promise<{ on: Figures; off: Figures }> {
  const stream = usageStreamOf(bench.stack.servers.redisUrl);
  const competitor = (isOn: boolean): Competitor => ({ call: () => deposit(bench), before: () => stream.set(isOn) });
  const { kapi, off } = await inTurns(bench.stack, { kapi: competitor(true), off: competitor(false) }, 0);
  await stream.set(true);
  stream.close();
  return { on: kapi, off };
}

/** (e) in turns with (f) and the bare path. */
async function besideBullmq(
  bench: Bench,
  environment: Record<string, string>,
): Promise<Record<"kapi" | "bullmq" | "barePath", Figures>> {
  const worker = await startProcess("bullmq-peer.ts", ["worker"], environment);
  const route = await startProcess<{ url: string }>("bullmq-peer.ts", ["route"], environment);
  const barePath = await startWarmBarePath(environment);
  const { QueueEvents } = await import("bullmq");
  const redis = new URL(environment["REDIS_URL"] ?? "");
  const jobs = new FinalCommands();
  const events = new QueueEvents("deposits", { connection: { host: redis.hostname, port: Number(redis.port) } });
  events.on("completed", ({ jobId }) => jobs.ended(jobId));
  await events.waitUntilReady();
  const pool = new Pool(route.hello.url, { connections: CONCURRENCY });
  const figures = await inTurns(bench.stack, {
    kapi: { call: () => depositUntilFinal(bench) },
    bullmq: {
      call: async () => {
        const commandId = randomUUID();
        const accountNumber = String(Math.floor(Math.random() * ACCOUNTS));
        await post(pool, "/deposits", {}, { accountNumber, amountMinor: 1, commandId });
        await jobs.wait(commandId);
      },
    },
    barePath: { call: async () => barePath.ended(await barePath.deposit()) },
  });
  await events.close();
  await pool.close();
  await barePath.stop();
  await route.stop();
  await worker.stop();
  return figures;
}

/** Sends a deposit and waits until its command is final. */
async function depositUntilFinal({ finals, ...harness }: Bench): Promise<void> {
  await finals.wait(await deposit(harness));
}

async function measure(bench: Bench, environment: Record<string, string>): Promise<void> {
  const warmUp = { concurrency: CONCURRENCY, warmUpMs: FIRST_WARM_UP_MS, measureMs: 0 };
  await closedLoop({ ...warmUp, call: () => depositUntilFinal(bench) });
  const ids = await Promise.all(Array.from({ length: 100 }, () => deposit(bench)));
  const say = (label: string, figures: Figures): Figures => {
    console.log(line(label, figures));
    return figures;
  };
  const accepted = await besideBareLoop(bench, environment);
  const a = say("(a) bare loop: Fastify + one Redis call + one batched publish", accepted.bareLoop);
  const b = say("(b) POST deposit, workers running: accepted, in turns with (a)", accepted.kapi);
  say("    the same on the bare path, in turns with both", accepted.barePath);
  const paused = await withWorkersPaused(bench);
  say("    the same while the workers are paused", paused.accepted);
  const c = say(
    "(c) GET command",
    await reads(bench.stack, () => statusOf(bench, ids[Math.floor(Math.random() * 100)] ?? "")),
  );
  const d = say(`(d) from 202 to succeeded at ${STEADY_PER_SECOND}/s`, await steady(bench));
  const ended = await besideBullmq(bench, environment);
  const e = say(`(e) deposits accepted and succeeded, ${CONCURRENCY} in flight`, ended.kapi);
  const f = say("(f) BullMQ, the same ledger work, AOF everysec, in turns with (e)", ended.bullmq);
  say("    the same on the bare path, in turns with both", ended.barePath);
  const { on, off } = await withAndWithoutStream(bench);
  say("(g) POST deposit, with the usage stream", on);
  say("    the same without the usage stream, in turns with it", off);
  console.log(`
(b)/(a) = ${(b.perSecond / a.perSecond).toFixed(2)}   aim >= 0.40
          ${(accepted.barePath.perSecond / a.perSecond).toFixed(2)} of (a) on the bare path: kapi's main processes, topics and rows without its checks
          ${(paused.accepted.perSecond / a.perSecond).toFixed(2)} while the workers are paused; then they execute the waiting commands at ${Math.round(paused.executedPerSecond)}/s
(c)     = ${Math.round(c.perSecond)}/s   aim >= 6000/s
(d)     p50 = ${d.p50Ms.toFixed(1)} ms   aim < 30 ms
(e)/(f) = ${(e.perSecond / f.perSecond).toFixed(2)}   aim >= 1.50
          ${(ended.barePath.perSecond / f.perSecond).toFixed(2)} of (f) on the bare path
(g)     = ${(on.perSecond / off.perSecond).toFixed(2)} of the rate without the usage stream   aim >= 0.90
requests answered 500 and sent again: ${repeatsSoFar()}`);
}

async function run(): Promise<void> {
  const telemetry = await benchTelemetry(process.env["BENCH_TELEMETRY"] === "on" ? SAMPLED_SHARE : null);
  const harness = await startAcceptHarness(STATE_DIR, { env: { all: telemetry.environment } });
  try {
    const { servers, topicPrefix } = harness.stack;
    const { finals, stop } = await readFinals(harness.stack);
    await measure(
      { ...harness, finals },
      {
        REDIS_URL: servers.redisUrl,
        POSTGRES_URL: servers.postgresUrl,
        KAFKA_BROKERS: servers.kafkaBrokers,
        KAFKA_TOPIC_PREFIX: topicPrefix,
      },
    );
    await stop();
  } finally {
    await harness.stop();
    await telemetry.stop();
  }
}

await (process.env["BENCH_TELEMETRY"] === "compare" ? compareTelemetry() : run());
