/**
 * `npm run bench -- risk`: what risk rules cost, and how soon a breach leads to a command. It
 * starts a risk process and a source of valuations; `latency` and `share` also start a sequencer
 * of metrics. It starts servers unless the environment names servers. All share the machine. Every
 * account has three rules.
 * - `latency`: the time from the append of a valuation that breaches a rule to the append of the
 *   command, by the broker's clock. Also the processor time of each process for a valuation.
 * - `share`: the samples per second of a sequencer under overload, in turns with and without a
 *   risk process on the same machine.
 * - `memory`: the memory of a risk process with many accounts, compared with its memory before
 *   these accounts had rules.
 * `npm run bench -- risk latency memory` runs only these parts.
 */
import { rmSync } from "node:fs";
import path from "node:path";

import { delay } from "@kapi/kernel";
import { freePort, printedReport, startServers, stopRecorded } from "@kapi/servers";
import { STATE_VARIABLE } from "@kapi/testkit";

import { type Aim, table } from "./bench-live-aims.ts";
import { LiveHarness, until } from "./bench-live-harness.ts";
import { settledMemory } from "./bench-live-inspector.ts";
import type { SourceMethods } from "./bench-live-source.ts";
import type { Worker } from "./bench-live-workers.ts";
import { RiskBench } from "./bench-risk-harness.ts";
import { figuresOf, line } from "./measure.ts";
import { microsecondsEach, type ProcessorTimes, processorTimes } from "./processor-time.ts";

const STATE_DIR = path.resolve(import.meta.dirname, "../../.local/bench-risk");
const MEASURE_MS = Number(process.env["BENCH_MEASURE_MS"] ?? 30_000);
const WARM_UP_MS = 10_000;
const ACCOUNTS = 20_000;
const MEMORY_ACCOUNTS = Number(process.env["BENCH_ACCOUNTS"] ?? 100_000);
const PER_SECOND = 5_000;
/**
 * About 50 losses a second. The number 101 has no common factor with the number of accounts, so
 * that each loss is of a different account: an account breaches its rules only once.
 */
const LOSS_EVERY = 101;
const AIM_P99_MS = 250;
/** More valuations than the sequencer can process. */
const OVERLOAD_PER_SECOND = 60_000;
const TURN_WARM_UP_MS = 3_000;
const TURN_MS = MEASURE_MS / 4;
/** In this order of turns, slow changes of the machine affect both cases almost equally. */
const TURNS = ["without", "with", "with", "without", "without", "with"] as const;
const AIM_SHARE = 0.15;
const FILL_PER_SECOND = 12_000;
const AIM_MEMORY_BYTES = 200_000_000;
const DRAIN_TIMEOUT_MS = 300_000;
const UNCOALESCED = { COALESCE_MS: "0", LOG_LEVEL: "warn" };
const MB = 1_000_000;

/** Waits until the log has as many samples as valuations were published. */
async function drained(harness: LiveHarness, published: number): Promise<void> {
  await until("all samples", async () => (await harness.samples()) >= published, DRAIN_TIMEOUT_MS);
}

async function latency(): Promise<Aim[]> {
  const harness = await LiveHarness.start();
  try {
    const risk = await RiskBench.start(harness, {});
    await risk.stampAtAppend();
    await risk.setRules(ACCOUNTS);
    const metrics = await harness.metrics({ ...UNCOALESCED, ROLES: "sequencer" });
    const source = await harness.source(ACCOUNTS);
    const pids = new Map([
      ["risk", risk.pid],
      ["sequencer", metrics.pid],
      ["source", source.pid],
    ]);
    const order = { perSecond: PER_SECOND, lossEvery: LOSS_EVERY };
    await source.call("each", { times: 1, perSecond: PER_SECOND });
    await source.call("run", { ...order, durationMs: WARM_UP_MS });
    const fromMs = Date.now();
    const before = processorTimes(pids);
    const published = await source.call("run", { ...order, durationMs: MEASURE_MS });
    const after = processorTimes(pids);
    await risk.caughtUp();
    const actions = (await risk.actions()).filter(({ valuationAtMs }) => valuationAtMs >= fromMs);
    const figures = figuresOf(
      actions.map(({ tookMs }) => tookMs),
      MEASURE_MS,
    );
    const recorded = figuresOf(
      actions.map(({ untilRecordedMs }) => untilRecordedMs),
      MEASURE_MS,
    );
    console.log(line(`breach to command, ${PER_SECOND} valuations/s, ${ACCOUNTS} accounts`, figures));
    console.log(line("  of that, until the breach is written", recorded));
    return [
      {
        what: `breach to command, p99 of ${figures.count}, ${PER_SECOND} valuations/s`,
        figure: `p50 ${figures.p50Ms} ms, p99 ${figures.p99Ms} ms`,
        aim: `< ${AIM_P99_MS} ms`,
        isMet: figures.p99Ms < AIM_P99_MS,
        bound: busiest(before, after),
      },
      {
        what: "processor time of a valuation, us",
        figure: microsecondsEach(before, after, published),
      },
    ];
  } finally {
    await harness.stop();
  }
}

function busiest(before: ProcessorTimes, after: ProcessorTimes): string {
  const shares = [...after].map(([name, ms]) => ({ name, share: (ms - (before.get(name) ?? 0)) / MEASURE_MS }));
  return shares
    .toSorted((one, other) => other.share - one.share)
    .slice(0, 3)
    .map(({ name, share }) => `${name} at ${Math.round(share * 100)} % of a processor`)
    .join(", ");
}

/**
 * Overloads the sequencer. Returns the rate of its samples, and the number of sent valuations.
 */
async function overload(harness: LiveHarness, source: Worker<SourceMethods>): Promise<{ rate: number; sent: number }> {
  const order = { perSecond: OVERLOAD_PER_SECOND, durationMs: TURN_WARM_UP_MS + TURN_MS };
  const sending = source.call("run", order);
  // An error is thrown later, by the await of `sending`.
  sending.catch(() => undefined);
  await delay(TURN_WARM_UP_MS);
  const [beforeMs, before] = [performance.now(), await harness.samples()];
  await delay(TURN_MS);
  const [afterMs, after] = [performance.now(), await harness.samples()];
  return { rate: ((after - before) * 1_000) / (afterMs - beforeMs), sent: await sending };
}

async function share(): Promise<Aim[]> {
  const harness = await LiveHarness.start();
  try {
    const risk = await RiskBench.start(harness, {});
    await risk.setRules(ACCOUNTS);
    await harness.metrics({ ...UNCOALESCED, ROLES: "sequencer" });
    const source = await harness.source(ACCOUNTS);
    await source.call("each", { times: 2, perSecond: PER_SECOND });
    let published = 2 * ACCOUNTS;
    const rates = { with: [] as number[], without: [] as number[] };
    // The first turn compiles the hot code; it does not count.
    for (const [index, turn] of ["with" as const, ...TURNS].entries()) {
      const riskProcess = risk.stack.process("risk");
      if (turn === "without") await riskProcess.stop();
      else if (riskProcess.pid === null) await riskProcess.start();
      if (turn === "with") await risk.caughtUp();
      await drained(harness, published);
      const { rate, sent } = await overload(harness, source);
      published += sent;
      await drained(harness, published);
      console.log(`  ${turn.padEnd(7)} ${Math.round(rate)} samples/s${index === 0 ? " (warm-up)" : ""}`);
      if (index > 0) rates[turn].push(rate);
    }
    const mean = (all: readonly number[]): number => all.reduce((sum, one) => sum + one, 0) / all.length;
    const [alone, beside] = [mean(rates.without), mean(rates.with)];
    const lost = 1 - beside / alone;
    // If the turns without the risk process differ by the aim or more, the means prove nothing.
    const spread = (Math.max(...rates.without) - Math.min(...rates.without)) / alone;
    return [
      {
        what: "throughput that the sequencer loses to a risk process on its machine",
        figure:
          `${(lost * 100).toFixed(1)} % (${Math.round(alone)}/s alone, ${Math.round(beside)}/s beside risk; ` +
          `turns alone differ by ${(spread * 100).toFixed(0)} %)`,
        aim: `< ${AIM_SHARE * 100} %`,
        isMet: lost < AIM_SHARE && spread < AIM_SHARE,
      },
    ];
  } finally {
    await harness.stop();
  }
}

async function memory(): Promise<Aim[]> {
  const harness = await LiveHarness.start();
  try {
    const inspector = await freePort();
    const env = { NODE_OPTIONS: `--inspect=127.0.0.1:${inspector}`, CHECKPOINT_INTERVAL_MS: "2000" };
    const risk = await RiskBench.start(harness, env);
    const source = await harness.source(MEMORY_ACCOUNTS);
    await source.call("each", { times: 1, perSecond: FILL_PER_SECOND });
    await risk.caughtUp();
    const empty = await settledMemory(inspector, risk.pid);
    await risk.stack.process("risk").stop();
    await risk.setRules(MEMORY_ACCOUNTS);
    await risk.stack.process("risk").start(env);
    await source.call("each", { times: 2, perSecond: FILL_PER_SECOND });
    await risk.caughtUp();
    const full = await settledMemory(inspector, risk.pid);
    const above = full.resident - empty.resident;
    return [
      {
        what: `memory of ${MEMORY_ACCOUNTS} accounts with three rules each`,
        figure:
          `${Math.round(above / MB)} MB above ${Math.round(empty.resident / MB)} MB; ` +
          `the heap grew by ${Math.round((full.heap - empty.heap) / MB)} MB`,
        aim: `< ${AIM_MEMORY_BYTES / MB} MB`,
        isMet: above < AIM_MEMORY_BYTES,
      },
    ];
  } finally {
    await harness.stop();
  }
}

const PARTS: Readonly<Record<string, () => Promise<Aim[]>>> = { latency, share, memory };
const wanted = process.argv.slice(2);
const unknown = wanted.filter((name) => !(name in PARTS));
if (unknown.length > 0) throw new Error(`no part ${unknown.join(", ")}; there are ${Object.keys(PARTS).join(", ")}`);

// process.exit also ends the processes of the parts.
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1));
// A separate folder, because tests remove the folders of killed runs from the shared state folder.
process.env[STATE_VARIABLE] = path.join(STATE_DIR, "parts");
// Stops the processes of a killed run first. Each run starts with empty servers.
await stopRecorded(path.join(STATE_DIR, "servers"));
rmSync(STATE_DIR, { recursive: true, force: true });
const servers = await startServers({ stateDir: STATE_DIR, report: printedReport() });
try {
  // Addresses of the servers for the parts. Each part has its own topics and database.
  process.env["KAFKA_BROKERS"] = servers.kafkaBrokers;
  process.env["POSTGRES_URL"] = servers.postgresUrl;
  process.env["REDIS_URL"] = servers.redisUrl;
  const aims: Aim[] = [];
  for (const [name, part] of Object.entries(PARTS)) {
    if (wanted.length > 0 && !wanted.includes(name)) continue;
    console.log(`${name}:`);
    aims.push(...(await part()));
    console.log(table(aims));
  }
} finally {
  await servers.stop();
}
