/**
 * Two parts of `bench -- live`:
 *
 * - `sockets`: the memory of a socket, and the time until a restarted process serves all sockets
 *   again.
 * - `restart`: the memory of an account with its window, and the time until a restarted process is
 *   ready.
 */
import { freePort } from "@kapi/servers";

import type { Aim } from "./bench-live-aims.ts";
import { type Memory, settledMemory } from "./bench-live-inspector.ts";
import { figuresOf } from "./bench-live-trial.ts";
import { type Clients, FIRST_ACCOUNT, LiveHarness, type MetricsProcess, until } from "./bench-live-harness.ts";

const SOCKETS = 5_000;
const AIM_SOCKET_BYTES = 20_000;
/**
 * Number of sockets that are opened and closed before the measurement, so that compiled code does
 * not count as memory of sockets.
 */
const PRACTICE_SOCKETS = 500;
const PRIME_PER_SECOND = 5_000;
const SAMPLES_BEFORE_RESTART = 10;
/** Number of samples that each client asks for again when it reconnects. */
const BEHIND = 5;
const ACCOUNTS = Number(process.env["BENCH_ACCOUNTS"] ?? 100_000);
const FILL_PER_SECOND = 12_000;
const SAMPLES_EACH = 20;
const AIM_READY_MS = 15_000;
const FILL_TIMEOUT_MS = 1_800_000;
/** Large enough for all samples of all accounts. */
const WINDOW_BUDGET_MIB = "4096";
const UNCOALESCED = { COALESCE_MS: "0", LOG_LEVEL: "warn" };
const KB = 1_000;

/** Measures the memory of an idle subscribed socket, then the restart of its process. */
export async function sockets(): Promise<Aim[]> {
  const harness = await LiveHarness.start();
  try {
    const inspector = await freePort();
    await harness.metrics({ ...UNCOALESCED, ROLES: "sequencer" });
    const source = await harness.source(SOCKETS);
    await source.call("each", { times: SAMPLES_BEFORE_RESTART, perSecond: PRIME_PER_SECOND });
    await until("all samples", async () => (await harness.samples()) >= SOCKETS * SAMPLES_BEFORE_RESTART);
    const env = { ...UNCOALESCED, ROLES: "stream", NODE_OPTIONS: `--inspect=127.0.0.1:${inspector}` };
    const metrics = await harness.metrics(env);
    const clients = await harness.clients();
    await practise(harness, clients, metrics);
    const before = await settledMemory(inspector, metrics.pid);
    await openAll(harness, clients, metrics, SOCKETS);
    const after = await settledMemory(inspector, metrics.pid);
    const each = difference(before, after, SOCKETS);
    const weight: Aim = {
      what: `memory of an idle subscribed socket, with ${SOCKETS} sockets`,
      figure: textOf(each),
      aim: `<= ${AIM_SOCKET_BYTES / KB} KB`,
      isMet: each.resident <= AIM_SOCKET_BYTES,
    };
    return [weight, await reconnect(harness, clients, metrics)];
  } finally {
    await harness.stop();
  }
}

/** Restarts the stream process. Then all clients reconnect together with `afterSequence`. */
async function reconnect(harness: LiveHarness, clients: Clients, metrics: MetricsProcess): Promise<Aim> {
  await metrics.stop();
  const again = await harness.metrics({ ...UNCOALESCED, ROLES: "stream" }, metrics.port);
  const readyMs = performance.now();
  const tries = await Promise.all(clients.workers.map((worker) => worker.call("reconnect", { back: BEHIND })));
  const connectedMs = performance.now();
  await until("every replay", async () => (await figuresOf(clients.workers)).replayed === SOCKETS, undefined, 10);
  const doneMs = performance.now();
  const s = (ms: number): string => `${(ms / 1_000).toFixed(2)} s`;
  const rejected = tries.reduce((total, one) => total + one, 0);
  return {
    what: `${SOCKETS} sockets reconnected with afterSequence, ${BEHIND} samples each`,
    figure:
      `${s(doneMs - readyMs)}, connected after ${s(connectedMs - readyMs)}, ${rejected} handshakes tried again; ` +
      `the process was ready ${s(again.readyMs)} after its start`,
  };
}

async function practise(harness: LiveHarness, clients: Clients, metrics: MetricsProcess): Promise<void> {
  await openAll(harness, clients, metrics, PRACTICE_SOCKETS);
  await Promise.all(clients.workers.map((worker) => worker.call("close", null)));
}

async function openAll(harness: LiveHarness, clients: Clients, metrics: MetricsProcess, count: number): Promise<void> {
  const address = harness.live(metrics);
  await clients.open({ ...address, firstAccount: FIRST_ACCOUNT, accounts: 1, sockets: count, accountStep: 1 });
  await until("a sample for every socket", async () => (await figuresOf(clients.workers)).started === count);
}

/**
 * Measures the memory of accounts with their windows, and the time until a restarted process is
 * ready.
 */
export async function restart(): Promise<Aim[]> {
  const harness = await LiveHarness.start();
  try {
    const inspector = await freePort();
    const env = { ...UNCOALESCED, WINDOW_BUDGET_MIB, NODE_OPTIONS: `--inspect=127.0.0.1:${inspector}` };
    let metrics = await harness.metrics(env);
    const source = await harness.source(ACCOUNTS);
    const empty = await settledMemory(inspector, metrics.pid);
    const aims: Aim[] = [];
    let written = 0;
    for (const samples of [1, SAMPLES_EACH]) {
      await source.call("each", { times: samples - written, perSecond: FILL_PER_SECOND });
      written = samples;
      await until("all samples", async () => (await harness.samples()) >= ACCOUNTS * samples, FILL_TIMEOUT_MS);
      const memory = await settledMemory(inspector, metrics.pid);
      const each = `${ACCOUNTS} accounts with ${samples} ${samples === 1 ? "sample" : "samples"} each`;
      aims.push({ what: `memory of an account, ${each}`, figure: textOf(difference(empty, memory, ACCOUNTS)) });
      for (const signal of ["SIGTERM", "SIGKILL"] as const) {
        await metrics.stop(signal);
        metrics = await harness.metrics(env);
        aims.push({
          what: `ready after ${signal}, ${each}`,
          figure: `${(metrics.readyMs / 1_000).toFixed(1)} s`,
          aim: `< ${AIM_READY_MS / 1_000} s`,
          isMet: metrics.readyMs < AIM_READY_MS,
        });
        console.log(aims.at(-1));
      }
    }
    return aims;
  } finally {
    await harness.stop();
  }
}

function difference(before: Memory, after: Memory, count: number): Memory {
  return {
    resident: (after.resident - before.resident) / count,
    heap: (after.heap - before.heap) / count,
    external: (after.external - before.external) / count,
  };
}

function textOf({ resident, heap, external }: Memory): string {
  const kb = (bytes: number): string => `${(bytes / KB).toFixed(1)} KB`;
  return `${kb(resident)} resident, the heap grew by ${kb(heap)}, buffers ${kb(external)}`;
}
