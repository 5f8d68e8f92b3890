/**
 * Part `sequencers` of `bench -- live`: the processor time of one sequencer as the number of
 * sequencers grows, and how long samples pause while partitions move to another sequencer.
 */
import { setTimeout } from "node:timers/promises";

import { TOPICS } from "@kapi/contracts";
import { endOffsets } from "@kapi/kafka";

import type { Aim } from "./bench-live-aims.ts";
import { LiveHarness, type MetricsProcess, until } from "./bench-live-harness.ts";
import { processorTimes, secondsPerMillion } from "./processor-time.ts";

const COUNTS = [1, 2, 4];
const ACCOUNTS = 2_000;
/** More valuations than the sequencers can process, so that they read large batches. */
const PER_SECOND = 25_000;
/**
 * Longer than the 30 s for which a sequencer still reads a partition that it has released. So after
 * the warm-up, every sequencer reads only its own partitions.
 */
const WARM_UP_MS = 36_000;
const WARM_UP_PER_SECOND = 1_000;
const MEASURE_MS = Number(process.env["BENCH_MEASURE_MS"] ?? 20_000);
/** Number of accounts in the takeovers, and valuations per second of all these accounts. */
const MOVED_ACCOUNTS = 10_000;
const MOVED_PER_SECOND = 2_000;
const FILL_PER_SECOND = 5_000;
/** Duration of the load before the first takeover. It fills the windows with samples. */
const BEFORE_MS = 30_000;
/** Longer than the session timeout plus the duration of a takeover. */
const AFTER_MS = 25_000;
const POLL_MS = 20;
const UNCOALESCED = { COALESCE_MS: "0", LOG_LEVEL: "warn" };
/**
 * Each of n sequencers may cost at most this factor times 1/n of the cost of one sequencer that
 * runs alone. The factor is above 1, because each process also has fixed costs.
 */
const MAX_SHARE = 1.3;
const SESSION_TIMEOUT_MS = 10_000;
const AIM_TAKEOVER_MS = 3_000;

/** Measures sequencers as their number grows, then takeovers. */
export async function sequencers(): Promise<Aim[]> {
  const aims: Aim[] = [];
  let alone: number | null = null;
  for (const count of COUNTS) {
    const each = await costOfSequencers(count);
    const most = Math.max(...each);
    alone ??= most;
    aims.push({
      what: `one of ${count} sequencers, processor seconds per million samples of all sequencers`,
      figure: `${most.toFixed(2)} (${each.map((one) => one.toFixed(2)).join(", ")})`,
      aim: `<= ${MAX_SHARE} x 1/${count} of ${alone.toFixed(2)}`,
      isMet: most <= (alone / count) * MAX_SHARE,
    });
  }
  return [...aims, ...(await takeovers())];
}

/** Processor seconds of each of `count` sequencers, per million samples of all sequencers. */
async function costOfSequencers(count: number): Promise<number[]> {
  const harness = await LiveHarness.start();
  try {
    const pids = new Map<string, number>();
    for (let number = 0; number < count; number += 1) pids.set(String(number), (await startSequencer(harness)).pid);
    const source = await harness.source(ACCOUNTS);
    await source.call("run", { perSecond: WARM_UP_PER_SECOND, durationMs: WARM_UP_MS });
    const before = { times: processorTimes(pids), samples: await harness.samples() };
    await source.call("run", { perSecond: PER_SECOND, durationMs: MEASURE_MS });
    const samples = (await harness.samples()) - before.samples;
    const after = processorTimes(pids);
    const each = Array.from(pids.keys(), (name) => secondsPerMillion(before.times, after, name, samples));
    console.log(`  ${count} sequencers, ${samples} samples: ${each.map((one) => one.toFixed(2)).join(", ")}`);
    return each;
  } finally {
    await harness.stop();
  }
}

function startSequencer(harness: LiveHarness): Promise<MetricsProcess> {
  return harness.metrics({ ...UNCOALESCED, ROLES: "sequencer", KAFKA_SESSION_TIMEOUT_MS: String(SESSION_TIMEOUT_MS) });
}

/**
 * Measures the pauses while one of two sequencers is killed, while a new one joins, and while the
 * new one stops.
 */
async function takeovers(): Promise<Aim[]> {
  const harness = await LiveHarness.start();
  try {
    const [first] = [await startSequencer(harness), await startSequencer(harness)];
    const source = await harness.source(MOVED_ACCOUNTS);
    await source.call("each", { times: 1, perSecond: FILL_PER_SECOND });
    await until("a sample of every account", async () => (await harness.samples()) >= MOVED_ACCOUNTS);
    await source.call("run", { perSecond: MOVED_PER_SECOND, durationMs: BEFORE_MS });
    const pauseOf = async (change: () => Promise<unknown>): Promise<number> => {
      const running = source.call("run", { perSecond: MOVED_PER_SECOND, durationMs: AFTER_MS });
      await setTimeout(1_000);
      void change();
      const pauseMs = await longestPauseMs(harness, AFTER_MS - 2_000);
      await running;
      return pauseMs;
    };
    const accounts = `${MOVED_ACCOUNTS} accounts, longest pause of a partition`;
    const killedMs = await pauseOf(() => first.stop("SIGKILL"));
    let third: MetricsProcess | null = null;
    const joinedMs = await pauseOf(async () => {
      third = await startSequencer(harness);
    });
    const stoppedMs = await pauseOf(async () => third?.stop());
    const aim = (what: string, pauseMs: number, atMost: number): Aim => ({
      what: `${accounts}: ${what}`,
      figure: `${(pauseMs / 1_000).toFixed(2)} s`,
      aim: `< ${atMost / 1_000} s`,
      isMet: pauseMs < atMost,
    });
    return [
      aim("one of two sequencers killed", killedMs, SESSION_TIMEOUT_MS + AIM_TAKEOVER_MS),
      aim("a second sequencer joins", joinedMs, AIM_TAKEOVER_MS),
      aim("one of two sequencers stops", stoppedMs, AIM_TAKEOVER_MS),
    ];
  } finally {
    await harness.stop();
  }
}

/** Longest time within `durationMs` in which a partition of `metrics.samples` got no record. */
async function longestPauseMs(harness: LiveHarness, durationMs: number): Promise<number> {
  const endMs = performance.now() + durationMs;
  const grown = new Map<number, { readonly end: bigint; readonly atMs: number }>();
  let longestMs = 0;
  while (performance.now() < endMs) {
    const ends = await endOffsets(harness.kafka, TOPICS.metricsSamples);
    const atMs = performance.now();
    for (const [partition, end] of ends) {
      const last = grown.get(partition) ?? { end, atMs };
      longestMs = Math.max(longestMs, atMs - last.atMs);
      grown.set(partition, end > last.end ? { end, atMs } : last);
    }
    await setTimeout(POLL_MS);
  }
  return longestMs;
}
