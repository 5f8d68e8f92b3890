/**
 * `BENCH_TELEMETRY=compare npm run bench -- accept`: the processor time of telemetry. Three whole
 * systems run at the same time: without telemetry, with the settings for production, and with every
 * request traced. They are measured in short turns, so that other load on the machine affects all
 * equally. The result is the processor time of all services together per call.
 */
import path from "node:path";

import { deposit, CONCURRENCY, startAcceptHarness, statusOf, type AcceptHarness } from "./accept-harness.ts";
import { closedLoop } from "./measure.ts";
import { processorTimes } from "./processor-time.ts";
import { benchTelemetry, SAMPLED_SHARE } from "./telemetry.ts";

const STATE_DIR = path.resolve(import.meta.dirname, "../../.local/bench");
const EVERYTHING = "1";
const SHARES = [null, SAMPLED_SHARE, EVERYTHING];
/** Time in which every process compiles its hot code. */
const WARM_UP_MS = 10_000;
const TURN_MS = 1_500;
const TURNS = 12;
/**
 * Pause after each turn. It is longer than deposits need to become final, so that their whole work
 * is counted.
 */
const SETTLE_MS = 1_000;
const READ_COMMANDS = 100;

/** One of the three systems. */
interface Side {
  readonly label: string;
  readonly harness: AcceptHarness;
  readonly commandIds: readonly string[];
  stop(): Promise<void>;
}

/** Number of calls and processor time of one system so far. */
interface Cost {
  calls: number;
  readonly ms: Map<string, number>;
}

/**
 * Prints the processor time per deposit and per read of a command, and how much more it is than
 * without telemetry.
 */
export async function compareTelemetry(): Promise<void> {
  const sides: Side[] = [];
  try {
    for (const share of SHARES) sides.push(await openSide(share));
    await compare("POST deposit", sides, ({ harness }) => deposit(harness));
    await compare("GET command", sides, ({ harness, commandIds }) =>
      statusOf(harness, commandIds[Math.floor(Math.random() * commandIds.length)] ?? ""),
    );
  } finally {
    for (const side of sides) await side.stop();
  }
}

async function openSide(share: string | null): Promise<Side> {
  const telemetry = await benchTelemetry(share);
  const harness = await startAcceptHarness(`${STATE_DIR}-${share ?? "off"}`, { env: { all: telemetry.environment } });
  const commandIds = await Promise.all(Array.from({ length: READ_COMMANDS }, () => deposit(harness)));
  return {
    label: share === null ? "off" : `on, traces ${share}`,
    harness,
    commandIds,
    stop: async () => {
      await harness.stop();
      await telemetry.stop();
    },
  };
}

async function compare(label: string, sides: readonly Side[], call: (side: Side) => Promise<unknown>): Promise<void> {
  const costs = new Map(sides.map((side): [Side, Cost] => [side, { calls: 0, ms: new Map() }]));
  for (const side of sides) await turn(side, WARM_UP_MS, call);
  for (let index = 0; index < TURNS; index += 1) {
    for (const side of index % 2 === 0 ? sides : sides.toReversed()) {
      const pids = new Map([...side.harness.stack.processes].map(([name, { pid }]) => [name, pid ?? 0]));
      const before = processorTimes(pids);
      const calls = await turn(side, TURN_MS, call);
      const cost = costs.get(side);
      if (cost === undefined) continue;
      cost.calls += calls;
      const after = processorTimes(pids);
      for (const name of pids.keys()) {
        cost.ms.set(name, (cost.ms.get(name) ?? 0) + (after.get(name) ?? 0) - (before.get(name) ?? 0));
      }
    }
  }
  let off: number | null = null;
  for (const [side, { calls, ms }] of costs) {
    const each = (value: number): number => (value * 1_000) / calls;
    const all = each([...ms.values()].reduce((sum, value) => sum + value, 0));
    off ??= all;
    const ratio = ((all / off - 1) * 100).toFixed(1);
    console.log(
      `${label}, telemetry ${side.label.padEnd(16)} services ${all.toFixed(0)} µs a call (${ratio} % more), gateway ` +
        `${each(ms.get("gateway") ?? 0).toFixed(0)} µs, ${calls} calls`,
    );
  }
}

/** Sends calls for `measureMs`, and waits for their work. Returns the number of calls. */
async function turn(side: Side, measureMs: number, call: (side: Side) => Promise<unknown>): Promise<number> {
  let calls = 0;
  await closedLoop({
    concurrency: CONCURRENCY,
    warmUpMs: 0,
    measureMs,
    call: async () => {
      await call(side);
      calls += 1;
    },
  });
  await new Promise((resolve) => setTimeout(resolve, SETTLE_MS));
  return calls;
}
