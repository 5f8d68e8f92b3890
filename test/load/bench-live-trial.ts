/**
 * Measures one rate of valuations for some seconds: deliveries, latencies, and processor time of
 * each process.
 */
import { setTimeout } from "node:timers/promises";

import { MAX_LATENCY_MS } from "./bench-live-socket.ts";
import type { ClientFigures, ClientMethods } from "./bench-live-clients.ts";
import type { SourceMethods } from "./bench-live-source.ts";
import { until } from "./bench-live-harness.ts";
import type { Worker } from "./bench-live-workers.ts";
import { type ProcessorTimes, processorTimes } from "./processor-time.ts";

/** Time in which every process compiles its hot code. */
const FIRST_WARM_UP_MS = 10_000;
const WARM_UP_MS = 2_000;
const MEASURE_MS = Number(process.env["BENCH_MEASURE_MS"] ?? 6_000);
const DRAIN_TIMEOUT_MS = 180_000;
export const AIM_P99_MS = 50;
/** A rate is sustained only if at most this share of the deliveries is in flight at the end. */
const UNDER_WAY = 0.02;
/** Factor between a sustained rate and the next tried rate. */
const STEP = 1.5;
const HALVINGS = 3;
/** Factor between the highest sustained rate and the rate that `maximum` offers. */
const OVERLOAD = 1.6;
/** A rate is sustained if this many of {@link TRIES} tries sustain it. */
const SUSTAINED_TRIES = 3;
const TRIES = 4;
/** A process that uses at least this share of one processor limits the rate. */
const BUSY = 0.85;

/** The measured system: a source, clients of every account, and the processes between them. */
export interface Setup {
  readonly source: Worker<SourceMethods>;
  readonly clients: readonly Worker<ClientMethods>[];
  /** Number of deliveries per valuation. */
  readonly fanOut: number;
  /**
   * The measured processes by name, without Kafka, PostgreSQL and Redis: `processorTimes` finds
   * these three itself.
   */
  readonly pids: ReadonlyMap<string, number>;
}

export interface Trial {
  /** Valuations per second that the source sends. */
  readonly offered: number;
  readonly deliveries: number;
  /** Deliveries per second. */
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Samples that replay notices announced as no longer available. */
  readonly announced: number;
  /** Duration of the measurement. */
  readonly seconds: number;
  /** Seconds of processor time, by process. */
  readonly costs: ReadonlyMap<string, number>;
}

/**
 * Sums the figures of all client processes. Throws if a sequence was missing or repeated, or if a
 * client had an error.
 */
export async function figuresOf(clients: readonly Worker<ClientMethods>[]): Promise<ClientFigures> {
  const all = await Promise.all(clients.map((worker) => worker.call("figures", null)));
  const sum = (field: Exclude<keyof ClientFigures, "latencies">): number =>
    all.reduce((total, one) => total + one[field], 0);
  if (sum("gaps") > 0 || sum("errors") > 0) throw new Error(`${sum("gaps")} gaps and ${sum("errors")} errors`);
  return {
    deliveries: sum("deliveries"),
    total: sum("total"),
    gaps: 0,
    errors: 0,
    announced: sum("announced"),
    started: sum("started"),
    replayed: sum("replayed"),
    closed: sum("closed"),
    latencies: all.flatMap(({ latencies }) => latencies),
  };
}

/**
 * Measures one rate. Returns after every valuation was either delivered or announced as no longer
 * available.
 */
export async function trial(setup: Setup, offered: number, warmUpMs = WARM_UP_MS): Promise<Trial> {
  const { source, clients, fanOut } = setup;
  const pids = new Map([...setup.pids, ["source", source.pid] as const, ...clientPids(clients)]);
  const before = await figuresOf(clients);
  const sending = source.call("run", { perSecond: offered, durationMs: warmUpMs + MEASURE_MS });
  // An error is thrown later, by the await of `sending`.
  sending.catch(() => undefined);
  await setTimeout(warmUpMs);
  await Promise.all(clients.map((worker) => worker.call("mark", null)));
  const timesBefore = processorTimes(pids);
  const beganMs = performance.now();
  await setTimeout(MEASURE_MS);
  const measured = await figuresOf(clients);
  const seconds = (performance.now() - beganMs) / 1_000;
  const costs = spent(timesBefore, processorTimes(pids));
  const expected = (await sending) * fanOut;
  await until(
    `all ${expected} deliveries`,
    async () => {
      const { total, announced } = await figuresOf(clients);
      return total + announced - before.total - before.announced >= expected;
    },
    DRAIN_TIMEOUT_MS,
  );
  const announced = (await figuresOf(clients)).announced - before.announced;
  const { deliveries } = measured;
  const [p50Ms, p99Ms] = [percentile(measured, 0.5), percentile(measured, 0.99)];
  return { offered, deliveries, perSecond: deliveries / seconds, p50Ms, p99Ms, announced, seconds, costs };
}

/**
 * Finds the highest sustained rate. A try sustains a rate if no sample is announced as no longer
 * available, 99 % of the samples arrive within 50 ms, and at most {@link UNDER_WAY} of the samples
 * are missing at the end of the measured time. A rate is sustained if three of four tries sustain
 * it. Of the three tries that sustained the highest rate, returns the try with the middle p99.
 * Throws if no rate is sustained. Prints every try except the warm-up.
 */
export async function highestRate(setup: Setup, startAt: number, label: string): Promise<Trial> {
  await trial(setup, startAt, FIRST_WARM_UP_MS);
  const sustained = async (offered: number): Promise<Trial | null> => {
    const good: Trial[] = [];
    for (let bad = 0; bad <= TRIES - SUSTAINED_TRIES && good.length < SUSTAINED_TRIES;) {
      const result = await trial(setup, Math.round(offered));
      const isSustained = result.p99Ms < AIM_P99_MS && result.announced === 0 && keepsUp(result, setup.fanOut);
      console.log(`${isSustained ? "  sustained" : "  missed   "} ${line(label, result)}`);
      if (isSustained) good.push(result);
      else bad += 1;
    }
    if (good.length < SUSTAINED_TRIES) return null;
    return good.toSorted((one, other) => one.p99Ms - other.p99Ms)[Math.floor(SUSTAINED_TRIES / 2)] ?? null;
  };
  let best: Trial | null = null;
  let low = 0;
  let high = startAt;
  for (let result = await sustained(high); result !== null; result = await sustained(high)) {
    best = result;
    low = high;
    high *= STEP;
  }
  for (let halvings = 0; halvings < HALVINGS; halvings += 1) {
    const middle = (low + high) / 2;
    const result = await sustained(middle);
    if (result === null) high = middle;
    else [best, low] = [result, middle];
  }
  if (best === null) throw new Error(`${label}: no rate was sustained`);
  return best;
}

/** Measures the deliveries under overload. */
export async function maximum(setup: Setup, best: Trial, label: string): Promise<Trial> {
  const result = await trial(setup, Math.round(best.offered * OVERLOAD));
  console.log(`  overload  ${line(label, result)}`);
  return result;
}

/** One line of the report: rates, latencies, and each process's share of one processor. */
export function line(label: string, result: Trial): string {
  const rate = Math.round(result.perSecond).toLocaleString("en").padStart(9);
  const shares = [...result.costs].map(([name, s]) => `${name} ${Math.round((s / result.seconds) * 100)}%`);
  const announced = result.announced === 0 ? "" : `   ${result.announced} announced as no longer available`;
  const late = `p50 ${result.p50Ms} ms   p99 ${result.p99Ms} ms`;
  return `${label.padEnd(42)} ${result.offered}/s offered ${rate}/s   ${late}${announced}   ${shares.join("  ")}`;
}

/** Seconds of processor time per million deliveries, by process. */
export function perMillion({ costs, deliveries }: Trial): string {
  return [...costs].map(([name, s]) => `${name} ${((s * 1_000_000) / deliveries).toFixed(2)}`).join("  ");
}

/** The processes that used at least {@link BUSY} of one processor; if none did, the busiest one. */
export function bound({ costs, seconds }: Trial): string {
  const shares = [...costs].map(([name, s]) => ({ name, share: s / seconds })).filter(({ share }) => share > 0);
  const busy = shares.filter(({ share }) => share >= BUSY);
  const shown = busy.length > 0 ? busy : shares.slice(0, 1);
  return shown.map(({ name, share }) => `${name} at ${Math.round(share * 100)} % of a processor`).join(", ");
}

function keepsUp(result: Trial, fanOut: number): boolean {
  return result.perSecond >= result.offered * fanOut * (1 - UNDER_WAY);
}

function clientPids(clients: readonly Worker<ClientMethods>[]): [string, number][] {
  return clients.map(({ pid }, index) => [`clients ${index + 1}`, pid]);
}

function spent(before: ProcessorTimes, after: ProcessorTimes): Map<string, number> {
  const seconds = [...after].map(([name, ms]) => [name, (ms - (before.get(name) ?? 0)) / 1_000] as const);
  return new Map(seconds.toSorted(([, a], [, b]) => b - a));
}

function percentile({ latencies, deliveries }: ClientFigures, share: number): number {
  let left = deliveries * share;
  for (const [ms, count] of latencies.toSorted(([a], [b]) => a - b)) {
    left -= count;
    if (left <= 0) return ms;
  }
  return MAX_LATENCY_MS;
}
