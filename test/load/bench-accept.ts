/**
 * `npm run bench:accept`: how fast requests are accepted and done, beside a bare loop and BullMQ, in one run. Starts
 * servers and services of its own; `BENCH_TELEMETRY=on` has them traced and measured, `BENCH_TELEMETRY=compare` tells instead what
 * that costs. Everything, this load generator
 * too, shares the machine: the ratios count.
 */
import { randomUUID } from "node:crypto";
import path from "node:path";
import { type CommandEvent, isFinal, TOPICS } from "@kapi/contracts";
import { createKafka, createLogReader } from "@kapi/kafka";
import type { Stack } from "@kapi/local";
import { createLogger } from "@kapi/runtime";
import { Pool } from "undici";

import { ACCOUNTS, CONCURRENCY, deposit, openWorld, post, repeatsSoFar, statusOf, type World } from "./accept-world.ts";
import { compareTelemetry } from "./compare-telemetry.ts";
import { closedLoop, type Figures, figuresOf, line } from "./measure.ts";
import { startProcess } from "./process.ts";
import { microsecondsEach, type ProcessorTimes, processorTimes } from "./processor-time.ts";
import { benchTelemetry, SAMPLED_SHARE } from "./telemetry.ts";
import { type Rival, takeTurns } from "./turns.ts";
import { usageStreamOf } from "./usage-stream.ts";

const STATE_DIR = path.resolve(import.meta.dirname, "../../.local/bench");
/** Deposits before all phases. Java compiles for most of a minute: in the first 10 s a deposit costs the broker four times what it costs then. */
const FIRST_WARM_UP_MS = 45_000;
/** Of each phase, and before the first turn of each that takes turns: its processes compile their hot code meanwhile. */
const WARM_UP_MS = 15_000;
const MEASURE_MS = Number(process.env["BENCH_MEASURE_MS"] ?? 15_000);
/** A read's own code is not run by the phases before it. */
const READ_WARM_UP_MS = 2 * WARM_UP_MS;
const STEADY_PER_SECOND = 50;
/** Of two that are compared, which take turns. */
const TURN_MS = MEASURE_MS / 2;
const TURN_WARM_UP_MS = 1_000;
/** How long the workers stand still: less than Kafka gives a consumer that is silent. */
const STILL_MS = 5_000;
const STILL_WARM_UP_MS = 1_000;
/** What a request for a deposit passes through before its 202. */
const ON_THE_WAY_TO_202 = new Set(["gateway", "command-status"]);
/** Everything that the phases share. */
interface Bench extends World {
  readonly finals: FinalEvents;
}

/** Resolves when the final event of a command was read from Kafka. */
interface FinalEvents {
  wait(commandId: string): Promise<void>;
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

/** What the calls of a phase cost each process: that is what bounds it. */
class Costs {
  readonly #stack: Stack;
  readonly #usedMs = new Map<string, number>();
  #before: ProcessorTimes = new Map();
  #calls = 0;

  constructor(stack: Stack) {
    this.#stack = stack;
  }

  /** Counts the calls. */
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

/** Runs reads and prints what one cost each process, warm-up included. */
async function reads(stack: Stack, call: () => Promise<unknown>): Promise<Figures> {
  const costs = new Costs(stack);
  costs.begin();
  const options = { concurrency: CONCURRENCY, warmUpMs: READ_WARM_UP_MS, measureMs: MEASURE_MS };
  const figures = await closedLoop({ ...options, call: costs.of(call) });
  costs.end();
  costs.print();
  return figures;
}

/** Two in turns, after a warm-up of each; prints what a call of `one` cost each process, warm-up included. */
async function inTurns(
  stack: Stack,
  one: Rival,
  other: Rival,
  warmUpMs = WARM_UP_MS,
): Promise<{ one: Figures; other: Figures }> {
  const costs = new Costs(stack);
  const measured: Rival = {
    call: costs.of(one.call),
    before: async () => {
      await one.before?.();
      costs.begin();
    },
    after: async () => {
      await one.after?.();
      costs.end();
    },
  };
  const turns = { concurrency: CONCURRENCY, warmUpMs, turnWarmUpMs: TURN_WARM_UP_MS, turnMs: TURN_MS };
  const figures = await takeTurns(measured, other, turns);
  costs.print();
  return figures;
}

function pidsOf(stack: Stack): Map<string, number> {
  const pids = new Map([["load generator", process.pid]]);
  for (const [name, { pid }] of stack.processes) if (pid !== null) pids.set(name, pid);
  return pids;
}

/**
 * (b) while the workers stand still: what the path to the 202 gives where they have processors of their own. Then how fast
 * they work off what was accepted meanwhile.
 */
async function withWorkersStill(bench: Bench): Promise<{ accepted: Figures; workedOffPerSecond: number }> {
  const workers = [...bench.stack.processes].filter(([name]) => !ON_THE_WAY_TO_202.has(name)).map(([, { pid }]) => pid);
  const signal = (name: "SIGSTOP" | "SIGCONT"): void => {
    for (const pid of workers) if (pid !== null) process.kill(pid, name);
  };
  const ends: Promise<void>[] = [];
  signal("SIGSTOP");
  let accepted: Figures;
  try {
    const turn = { concurrency: CONCURRENCY, warmUpMs: STILL_WARM_UP_MS, measureMs: STILL_MS };
    accepted = await closedLoop({ ...turn, call: async () => void ends.push(bench.finals.wait(await deposit(bench))) });
  } finally {
    signal("SIGCONT");
  }
  const resumedMs = performance.now();
  await Promise.all(ends);
  return { accepted, workedOffPerSecond: (ends.length * 1000) / (performance.now() - resumedMs) };
}

/** (b) beside (a). A turn of (b) ends when its last deposit is done, so that none is worked on in a turn of (a). */
async function besideBareLoop(
  bench: Bench,
  environment: Record<string, string>,
): Promise<{ bare: Figures; deposits: Figures }> {
  const bare = await startProcess<{ url: string }>("bare-loop.ts", [], environment);
  const pool = new Pool(bare.hello.url, { connections: CONCURRENCY });
  let ends: Promise<void>[] = [];
  const { one, other } = await inTurns(
    bench.stack,
    {
      call: async () => void ends.push(bench.finals.wait(await deposit(bench))),
      after: async () => {
        await Promise.all(ends);
        ends = [];
      },
    },
    { call: () => post(pool, "/bare", {}, { amount: 0.01, requestId: "bench", description: randomUUID() }) },
  );
  await pool.close();
  await bare.stop();
  return { deposits: one, bare: other };
}

/** (g): accepted deposits with the usage stream, and without it. */
async function withAndWithoutStream(bench: Bench): Promise<{ on: Figures; off: Figures }> {
  const stream = usageStreamOf(bench.stack.servers.redisUrl);
  const rival = (isOn: boolean): Rival => ({ call: () => deposit(bench), before: () => stream.set(isOn) });
  const { one, other } = await inTurns(bench.stack, rival(true), rival(false), 0);
  await stream.set(true);
  stream.close();
  return { on: one, off: other };
}

/** (e) beside (f). */
async function besideBullmq(
  bench: Bench,
  environment: Record<string, string>,
): Promise<{ deposits: Figures; bullmq: Figures }> {
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
  const { one, other } = await inTurns(
    bench.stack,
    { call: () => depositToItsEnd(bench) },
    {
      call: async () => {
        const commandId = randomUUID();
        const accountNumber = String(Math.floor(Math.random() * ACCOUNTS));
        await post(pool, "/deposits", {}, { accountNumber, amountMinor: 1, commandId });
        if (!early.delete(commandId)) await new Promise<void>((resolve) => done.set(commandId, resolve));
      },
    },
  );
  await events.close();
  await pool.close();
  await route.stop();
  await worker.stop();
  return { deposits: one, bullmq: other };
}

/** A deposit, until it is succeeded. */
async function depositToItsEnd({ finals, ...world }: Bench): Promise<void> {
  await finals.wait(await deposit(world));
}

async function measure(bench: Bench, environment: Record<string, string>): Promise<void> {
  const warmUp = { concurrency: CONCURRENCY, warmUpMs: FIRST_WARM_UP_MS, measureMs: 0 };
  await closedLoop({ ...warmUp, call: () => depositToItsEnd(bench) });
  const ids = await Promise.all(Array.from({ length: 100 }, () => deposit(bench)));
  const report: string[] = [];
  const say = (label: string, figures: Figures): Figures => {
    report.push(line(label, figures));
    console.log(report.at(-1));
    return figures;
  };
  const { bare, deposits } = await besideBareLoop(bench, environment);
  const a = say("(a) bare loop: Fastify + one Redis call + one batched publish", bare);
  const b = say("(b) POST deposit, workers running: accepted, in turns with (a)", deposits);
  const still = await withWorkersStill(bench);
  say("    the same while the workers stand still", still.accepted);
  const c = say(
    "(c) GET command",
    await reads(bench.stack, () => statusOf(bench, ids[Math.floor(Math.random() * 100)] ?? "")),
  );
  const d = say(`(d) from 202 to succeeded at ${STEADY_PER_SECOND}/s`, await steady(bench));
  const { deposits: ended, bullmq } = await besideBullmq(bench, environment);
  const e = say(`(e) deposits accepted and succeeded, ${CONCURRENCY} in flight`, ended);
  const f = say("(f) BullMQ, the same ledger work, AOF everysec, in turns with (e)", bullmq);
  const { on, off } = await withAndWithoutStream(bench);
  say("(g) POST deposit, with the usage stream", on);
  say("    the same without the usage stream, in turns with it", off);
  console.log(`
(b)/(a) = ${(b.perSecond / a.perSecond).toFixed(2)}   aim >= 0.40
          ${(still.accepted.perSecond / a.perSecond).toFixed(2)} where the workers take no processor time from it; what waits then is worked off at ${Math.round(still.workedOffPerSecond)}/s
(c)     = ${Math.round(c.perSecond)}/s   aim >= 6000/s
(d)     p50 = ${d.p50Ms.toFixed(1)} ms   aim < 30 ms
(e)/(f) = ${(e.perSecond / f.perSecond).toFixed(2)}   aim >= 1.50
(g)     = ${(on.perSecond / off.perSecond).toFixed(2)} of the rate without the usage stream   aim >= 0.90
requests answered 500 and sent again: ${repeatsSoFar()}`);
}

async function run(): Promise<void> {
  const telemetry = await benchTelemetry(process.env["BENCH_TELEMETRY"] === "on" ? SAMPLED_SHARE : null);
  const world = await openWorld(STATE_DIR, telemetry.environment);
  try {
    const { servers, topicPrefix } = world.stack;
    const { finals, stop } = await readFinals(world.stack);
    await measure(
      { ...world, finals },
      {
        REDIS_URL: servers.redisUrl,
        POSTGRES_URL: servers.postgresUrl,
        KAFKA_BROKERS: servers.kafkaBrokers,
        KAFKA_TOPIC_PREFIX: topicPrefix,
      },
    );
    await stop();
  } finally {
    await world.stop();
    await telemetry.stop();
  }
}

await (process.env["BENCH_TELEMETRY"] === "compare" ? compareTelemetry() : run());
