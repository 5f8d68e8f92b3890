/**
 * Part `windows` of `bench -- live`. It measures two kinds of processes as an installation grows:
 *
 * - The processor time of a windows process, as the number of windows processes grows. A process
 *   should need time only for the samples of its partitions.
 * - The processor time and memory of a stream process, as the number of other accounts grows. No
 *   socket follows these accounts, so the process should need nothing for them.
 */
import { setTimeout } from "node:timers/promises";

import { freePort } from "@kapi/servers";

import type { Aim } from "./bench-live-aims.ts";
import { FIRST_ACCOUNT, LiveHarness, type MetricsProcess, until } from "./bench-live-harness.ts";
import { settledMemory } from "./bench-live-inspector.ts";
import { figuresOf } from "./bench-live-trial.ts";
import { processorTimes, secondsPerMillion } from "./processor-time.ts";

const COUNTS = [1, 2, 4];
const ACCOUNTS = 2_000;
const PER_SECOND = 4_000;
const WARM_UP_MS = 10_000;
const MEASURE_MS = Number(process.env["BENCH_MEASURE_MS"] ?? 20_000);
/** Number of accounts that sockets follow, and valuations per second of all these accounts. */
const FOLLOWED = 200;
const FOLLOWED_PER_SECOND = 1_000;
/** Number of accounts that no socket follows, for each measurement of a stream process. */
const OTHERS = [0, 10_000, Number(process.env["BENCH_ACCOUNTS"] ?? 100_000)];
const OTHERS_PER_SECOND = 3_000;
const FILL_PER_SECOND = 10_000;
/**
 * Longer than a process needs for the waiting samples. The rest of this time hardly counts, because
 * an idle process uses little processor time.
 */
const CATCH_UP_MS = 10_000;
const FILL_TIMEOUT_MS = 600_000;
const UNCOALESCED = { COALESCE_MS: "0", LOG_LEVEL: "warn" };
/**
 * Each of n windows processes may cost at most this factor times 1/n of the cost of one process
 * that runs alone. The factor is above 1, because each process also has fixed costs.
 */
const MAX_SHARE = 1.3;
/** Maximum ratio to the figures of the first measurement. A smaller growth counts as noise. */
const MAX_GROWTH = 1.3;
const MIB = 1_024 * 1_024;

/**
 * Measures windows processes as their number grows. Then measures a stream process as the number of
 * other accounts grows. No socket follows these accounts.
 */
export async function windows(): Promise<Aim[]> {
  const aims: Aim[] = [];
  let alone: number | null = null;
  for (const count of COUNTS) {
    const { live, busy } = await costOfWindows(count);
    const most = Math.max(...busy);
    alone ??= most;
    const what = `one of ${count} windows processes, processor seconds per million samples of all partitions`;
    aims.push(
      { what: `${what}, at ${PER_SECOND}/s`, figure: textOf(live) },
      {
        what: `${what}, while it is busy`,
        figure: textOf(busy),
        aim: `<= ${MAX_SHARE} x 1/${count} of ${alone.toFixed(2)}`,
        isMet: most <= (alone / count) * MAX_SHARE,
      },
    );
  }
  let first: StreamCost | null = null;
  for (const others of OTHERS) {
    const cost = await costOfStream(others);
    first ??= cost;
    aims.push({
      what: `a stream process, ${FOLLOWED} followed accounts and ${others} others`,
      figure:
        `${cost.perMillion.toFixed(2)} processor seconds per million deliveries, ` +
        `${(cost.residentBytes / MIB).toFixed(0)} MiB resident`,
      aim: `<= ${MAX_GROWTH} x the figures without others`,
      isMet: cost.perMillion <= first.perMillion * MAX_GROWTH && cost.residentBytes <= first.residentBytes * MAX_GROWTH,
    });
  }
  return aims;
}

/** Starts a sequencer and the windows processes. */
async function startTier(harness: LiveHarness, count: number): Promise<{ tier: MetricsProcess[]; urls: string }> {
  const ports = await Promise.all(Array.from({ length: count }, () => freePort()));
  const urls = ports.map((port) => `http://127.0.0.1:${port}`).join(",");
  await harness.metrics({ ...UNCOALESCED, ROLES: "sequencer" });
  const tier = await Promise.all(
    ports.map((port, instance) =>
      harness.metrics({
        ...UNCOALESCED,
        ROLES: "windows",
        HTTP_PORT: String(port),
        WINDOWS_INSTANCE: String(instance),
        WINDOWS_COUNT: String(count),
        WINDOWS_URLS: urls,
      }),
    ),
  );
  return { tier, urls };
}

/** Processor seconds of each windows process, per million samples of all partitions. */
interface WindowsCost {
  /** At `PER_SECOND`: mostly the cost of waking up, which is the same for each process. */
  readonly live: readonly number[];
  /** While many samples wait for the process, as under overload. */
  readonly busy: readonly number[];
}

const textOf = (each: readonly number[]): string =>
  `${Math.max(...each).toFixed(2)} (${each.map((one) => one.toFixed(2)).join(", ")})`;

async function costOfWindows(count: number): Promise<WindowsCost> {
  const harness = await LiveHarness.start();
  try {
    const { tier } = await startTier(harness, count);
    const source = await harness.source(ACCOUNTS);
    await source.call("run", { perSecond: PER_SECOND, durationMs: WARM_UP_MS });
    const pids = new Map(tier.map(({ pid }, instance) => [String(instance), pid]));
    const costOf = async (what: string, work: () => Promise<void>): Promise<number[]> => {
      const before = { times: processorTimes(pids), samples: await harness.samples() };
      await work();
      const samples = (await harness.samples()) - before.samples;
      const after = processorTimes(pids);
      const each = Array.from(pids.keys(), (name) => secondsPerMillion(before.times, after, name, samples));
      console.log(`  ${count} windows processes, ${what}, ${samples} samples: ${textOf(each)}`);
      return each;
    };
    const live = await costOf("live", async () => {
      await source.call("run", { perSecond: PER_SECOND, durationMs: MEASURE_MS });
      await setTimeout(1_000);
    });
    const signal = (name: "SIGSTOP" | "SIGCONT"): void => {
      for (const pid of pids.values()) process.kill(pid, name);
    };
    const busy = await costOf("busy", async () => {
      signal("SIGSTOP");
      await source.call("run", { perSecond: FILL_PER_SECOND, durationMs: MEASURE_MS });
      signal("SIGCONT");
      await setTimeout(CATCH_UP_MS);
    });
    return { live, busy };
  } finally {
    await harness.stop();
  }
}

interface StreamCost {
  readonly perMillion: number;
  readonly residentBytes: number;
}

async function costOfStream(others: number): Promise<StreamCost> {
  const harness = await LiveHarness.start();
  try {
    const inspector = await freePort();
    const { urls } = await startTier(harness, 1);
    const stream = await harness.metrics({
      ...UNCOALESCED,
      ROLES: "stream",
      WINDOWS_URLS: urls,
      NODE_OPTIONS: `--inspect=127.0.0.1:${inspector}`,
    });
    const followed = await harness.source(FOLLOWED);
    const rest = await harness.source(Math.max(1, others), FIRST_ACCOUNT + FOLLOWED);
    if (others > 0) {
      const begun = await harness.samples();
      await rest.call("each", { times: 1, perSecond: FILL_PER_SECOND });
      await until(
        "a sample of every other account",
        async () => (await harness.samples()) - begun >= others,
        FILL_TIMEOUT_MS,
      );
    }
    const clients = await harness.clients();
    await clients.open({
      ...harness.live(stream),
      firstAccount: FIRST_ACCOUNT,
      accounts: 1,
      sockets: FOLLOWED,
      accountStep: 1,
    });
    await followed.call("each", { times: 1, perSecond: FOLLOWED_PER_SECOND });
    await until("a sample for every socket", async () => (await figuresOf(clients.workers)).started === FOLLOWED);
    const run = (durationMs: number) =>
      Promise.all([
        followed.call("run", { perSecond: FOLLOWED_PER_SECOND, durationMs }),
        others === 0 ? 0 : rest.call("run", { perSecond: OTHERS_PER_SECOND, durationMs }),
      ]);
    await run(WARM_UP_MS);
    const pids = new Map([["stream", stream.pid]]);
    const before = { times: processorTimes(pids), total: (await figuresOf(clients.workers)).total };
    await run(MEASURE_MS);
    await setTimeout(1_000);
    const deliveries = (await figuresOf(clients.workers)).total - before.total;
    const perMillion = secondsPerMillion(before.times, processorTimes(pids), "stream", deliveries);
    const { resident } = await settledMemory(inspector, stream.pid);
    console.log(`  ${others} others, ${deliveries} deliveries: ${perMillion.toFixed(2)} s per million`);
    return { perMillion, residentBytes: resident };
  } finally {
    await harness.stop();
  }
}
