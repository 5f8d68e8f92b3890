/**
 * `npm run bench -- curve`: latency and cost of deposits at fixed rates, in turns for kapi and for
 * BullMQ. A worker of BullMQ writes the ledger rows of a deposit in one statement. While one peer
 * is measured, the services of the other peer do not run. Servers, services and load generator
 * share the machine: compare the two peers, not single figures.
 */
import { randomUUID } from "node:crypto";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";

import { TOPICS } from "@kapi/contracts";
import { createKafka, endOffsets, type KafkaConnection } from "@kapi/kafka";
import { createLogger } from "@kapi/runtime";
import { recordedPids } from "@kapi/servers";
import { QueueEvents } from "bullmq";
import pg from "pg";
import { Pool } from "undici";

import { type AcceptHarness, ACCOUNTS, deposit, post, startAcceptHarness, succeeded } from "./accept-harness.ts";
import { FinalCommands, readFinals } from "./final-commands.ts";
import { closedLoop, type Figures, line } from "./measure.ts";
import { openLoop, type OpenLoopFigures, type OpenLoopTarget } from "./open-loop.ts";
import { startProcess } from "./process.ts";
import { memoryOf, type ProgramUsage, usageOf } from "./program-usage.ts";

const STATE_DIR = path.resolve(import.meta.dirname, "../../.local/bench-curve");
const RATES = (process.env["CURVE_RATES"] ?? "0,10,50,100,200,400,800").split(",").map(Number);
/** Measured time of each rate, and of each number of deposits in flight, in each turn. */
const HOLD_MS = Number(process.env["CURVE_HOLD_MS"] ?? 15_000);
/**
 * Whether each service has its own process, as in the Helm chart. By default all services share one
 * process.
 */
const EACH = process.env["CURVE_PROCESSES"] === "each";
const TURNS = Number(process.env["CURVE_TURNS"] ?? 2);
/** Warm-up of a peer in its first turn, in which Java and Node compile hot code. */
const FIRST_WARM_UP_MS = Number(process.env["CURVE_WARM_UP_MS"] ?? 45_000);
/** Warm-up of a peer in each later turn. */
const WARM_UP_MS = 10_000;
const IN_FLIGHT_WARM_UP_MS = 3_000;
const WARM_UP_PER_SECOND = 200;
/** Pause before a measurement, so that background work of the previous rate has ended. */
const SETTLE_MS = 2_000;
const MIB = 1024 * 1024;
/** The measured numbers of deposits in flight. Every deposit is followed until it is final. */
const IN_FLIGHT = (process.env["CURVE_IN_FLIGHT"] ?? "64,256,1024").split(",").filter(Boolean).map(Number);
/** Deposits in flight for one account. */
const ON_ONE_ACCOUNT = 64;
/** Maximum number of characters of a statement in the report. */
const STATEMENT_CHARACTERS = 110;
/** Statements with fewer calls for each deposit are not printed. */
const MIN_STATEMENT_CALLS = 0.05;
const SERVERS = new Set(["kafka", "postgres", "redis"]);

/** A system that makes deposits. */
interface Peer extends OpenLoopTarget {
  readonly name: string;
  start(): Promise<void>;
  stop(): Promise<void>;
  /**
   * Calls `measure` with a function that makes one deposit, by default to a random account. The
   * function resolves when the deposit is final. The load generator needs little processor time to
   * learn this.
   */
  whileFollowed(measure: (depositUntilFinal: (account?: string) => Promise<void>) => Promise<void>): Promise<void>;
  /** Process ids of the peer's processes, and of the servers that the peer uses, by name. */
  pids(): Map<string, number>;
}

/** Sums of counters of the servers. */
interface ServerCounts {
  readonly commits: number;
  /** Calls of each statement, by its beginning. */
  readonly statements: ReadonlyMap<string, number>;
  readonly walBytes: number;
  readonly records: ReadonlyMap<string, number>;
}

/** One rate of one peer in one turn. */
interface Measured {
  readonly figures: OpenLoopFigures;
  readonly elapsedMs: number;
  readonly deposits: number;
  readonly programs: ReadonlyMap<string, ProgramUsage>;
  readonly counts: ServerCounts;
}

function serverPids(): [string, number][] {
  return [...recordedPids(STATE_DIR)].filter(([name]) => SERVERS.has(name));
}

function kapiPeer(harness: AcceptHarness): Peer {
  const services = [...harness.stack.processes.values()];
  return {
    name: "kapi",
    start: async () => {
      await Promise.all(services.filter(({ pid }) => pid === null).map((service) => service.start()));
    },
    stop: async () => {
      await Promise.all(services.map((service) => service.stop()));
    },
    pids: () => recordedPids(STATE_DIR),
    accept: () => deposit(harness),
    succeeded: (id) => succeeded(harness, id),
    whileFollowed: async (measure) => {
      const { finals, stop } = await readFinals(harness.stack);
      await measure(async (account) => finals.wait(await deposit(harness, account)));
      await stop();
    },
  };
}

function bullmqPeer(environment: Record<string, string>): Peer {
  const redis = new URL(environment["REDIS_URL"] ?? "");
  const kafka = "kafka";
  let finalJobs = new FinalCommands();
  let running: {
    readonly pids: [string, number][];
    readonly pool: Pool;
    readonly stop: () => Promise<void>;
  } | null = null;
  const api = (): Pool => {
    if (running === null) throw new Error("the BullMQ peer does not run");
    return running.pool;
  };
  return {
    name: "BullMQ",
    start: async () => {
      const worker = await startProcess("bullmq-peer.ts", ["worker"], environment);
      const route = await startProcess<{ url: string }>("bullmq-peer.ts", ["route"], environment);
      finalJobs = new FinalCommands();
      const events = new QueueEvents("deposits", { connection: { host: redis.hostname, port: Number(redis.port) } });
      events.on("completed", ({ jobId }) => finalJobs.ended(jobId));
      await events.waitUntilReady();
      const pool = new Pool(route.hello.url, { connections: 64 });
      const stop = async (): Promise<void> => {
        await Promise.all([events.close(), pool.close()]);
        await Promise.all([route.stop(), worker.stop()]);
      };
      running = {
        pids: [
          ["worker", worker.pid],
          ["route", route.pid],
        ],
        pool,
        stop,
      };
    },
    stop: async () => {
      await running?.stop();
      running = null;
    },
    pids: () => new Map([...serverPids().filter(([name]) => name !== kafka), ...(running?.pids ?? [])]),
    accept: () => bullmqDeposit(api()),
    succeeded: (id) => finalJobs.wait(id),
    whileFollowed: (measure) =>
      measure(async (accountNumber) => finalJobs.wait(await bullmqDeposit(api(), accountNumber))),
  };
}

async function bullmqDeposit(api: Pool, accountNumber = String(Math.floor(Math.random() * ACCOUNTS))): Promise<string> {
  const commandId = randomUUID();
  await post(api, "/deposits", {}, { accountNumber, amountMinor: 1, commandId });
  return commandId;
}

/** Reads the counters of PostgreSQL, and how many records each topic has had. */
async function serverCounts(database: pg.Client, kafka: KafkaConnection): Promise<ServerCounts> {
  const { rows } = await database.query<{ commits: string; wal_bytes: string }>(
    `select sum(xact_commit) as commits, pg_current_wal_lsn() - '0/0' as wal_bytes from pg_stat_database`,
  );
  const calls = await database.query<{ statement: string; calls: string }>(
    `select left(regexp_replace(query, '\\s+', ' ', 'g'), ${STATEMENT_CHARACTERS}) as statement, sum(calls) as calls
     from pg_stat_statements group by 1`,
  );
  const records = new Map<string, number>();
  for (const topic of Object.values(TOPICS)) {
    const ends = await endOffsets(kafka, topic);
    records.set(
      topic.name,
      [...ends.values()].reduce((sum, end) => sum + Number(end), 0),
    );
  }
  return {
    commits: Number(rows[0]?.commits),
    walBytes: Number(rows[0]?.wal_bytes),
    records,
    statements: new Map(calls.rows.map(({ statement, calls: count }) => [statement, Number(count)])),
  };
}

/** By how much each count has grown. */
function increase(before: ReadonlyMap<string, number>, after: ReadonlyMap<string, number>): Map<string, number> {
  return new Map(Array.from(after, ([name, count]) => [name, count - (before.get(name) ?? 0)]));
}

/** Measures one rate of a peer. With rate 0 nothing is sent. */
async function hold(peer: Peer, perSecond: number, counts: () => Promise<ServerCounts>): Promise<Measured> {
  await delay(SETTLE_MS);
  const before = { counts: await counts(), programs: usageOf(peer.pids()), ms: performance.now() };
  const figures = await openLoop(peer, { perSecond, durationMs: HOLD_MS });
  const programs = usageOf(peer.pids());
  const elapsedMs = performance.now() - before.ms;
  const after = await counts();
  return {
    figures,
    elapsedMs,
    deposits: figures.accepted.count,
    programs: new Map(
      Array.from(programs, ([name, { cpuMs, timeSlices }]) => [
        name,
        {
          cpuMs: cpuMs - (before.programs.get(name)?.cpuMs ?? 0),
          timeSlices: timeSlices - (before.programs.get(name)?.timeSlices ?? 0),
        },
      ]),
    ),
    counts: {
      commits: after.commits - before.counts.commits,
      walBytes: after.walBytes - before.counts.walBytes,
      records: increase(before.counts.records, after.records),
      statements: increase(before.counts.statements, after.statements),
    },
  };
}

/**
 * Measures deposits until they are final: on all accounts with each number of {@link IN_FLIGHT},
 * then on one account. Returns the figures by the name of the phase.
 */
async function untilFinal(peer: Peer, accounts: readonly string[]): Promise<Map<string, Figures>> {
  const measured = new Map<string, Figures>();
  const [oneAccount = ""] = accounts;
  await peer.whileFollowed(async (depositUntilFinal) => {
    for (const concurrency of IN_FLIGHT) {
      const load = { concurrency, warmUpMs: IN_FLIGHT_WARM_UP_MS, measureMs: HOLD_MS };
      measured.set(`${concurrency} in flight`, await closedLoop({ ...load, call: () => depositUntilFinal() }));
    }
    const load = { concurrency: ON_ONE_ACCOUNT, warmUpMs: IN_FLIGHT_WARM_UP_MS, measureMs: HOLD_MS };
    const call = (): Promise<void> => depositUntilFinal(oneAccount);
    measured.set(`${ON_ONE_ACCOUNT} in flight, one account`, await closedLoop({ ...load, call }));
  });
  return measured;
}

const sumOf = <T>(items: Iterable<T>, value: (item: T) => number): number =>
  Array.from(items, value).reduce((sum, one) => sum + one, 0);

/** Mean of a figure over the turns, and its spread: "12.3 (11.9-12.7)". */
function overTurns(turns: readonly Measured[], value: (measured: Measured) => number, digits: number): string {
  const values = turns.map(value);
  const mean = sumOf(values, (one) => one) / values.length;
  const spread = [Math.min(...values), Math.max(...values)].map((one) => one.toFixed(digits)).join("-");
  return `${mean.toFixed(digits)} (${spread})`;
}

const cpuMsOf = ({ programs }: Measured): number => sumOf(programs.values(), ({ cpuMs }) => cpuMs);

/** One row of the table: a peer at a rate. */
function row(name: string, perSecond: number, turns: readonly Measured[]): string {
  const cells = [
    `${perSecond}/s`.padStart(6),
    name.padEnd(7),
    `${overTurns(turns, (one) => (cpuMsOf(one) / one.elapsedMs) * 100, 0)} %`,
  ];
  if (perSecond === 0) return cells.join(" | ");
  const perDeposit = (value: (one: Measured) => number, digits: number): string =>
    overTurns(turns, (one) => value(one) / one.deposits, digits);
  return [
    ...cells,
    perDeposit(cpuMsOf, 2),
    perDeposit(({ programs }) => sumOf(programs.values(), ({ timeSlices }) => timeSlices), 0),
    `${overTurns(turns, ({ figures }) => figures.accepted.p50Ms, 1)} / ${overTurns(turns, ({ figures }) => figures.accepted.p99Ms, 0)}`,
    `${overTurns(turns, ({ figures }) => figures.succeeded.p50Ms, 1)} / ${overTurns(turns, ({ figures }) => figures.succeeded.p99Ms, 0)}`,
    perDeposit(({ counts }) => counts.commits, 2),
    perDeposit(({ counts }) => counts.walBytes, 0),
    perDeposit(({ counts }) => sumOf(counts.records.values(), (count) => count), 1),
    sumOf(turns, ({ figures }) => figures.unsent),
  ].join(" | ");
}

const HEADER =
  "  rate | peer | CPU, % of one core | CPU ms per deposit | time slices per deposit | accepted p50 / p99 ms | 202 to succeeded p50 / p99 ms | commits per deposit | WAL bytes per deposit | records per deposit | unsent";

/** Text of one rate: processor time and time slices by program, records by topic, statements. */
function details(perSecond: number, turns: readonly Measured[]): string {
  const names = [...new Set(turns.flatMap(({ programs }) => [...programs.keys()]))];
  const unit = perSecond === 0 ? 1 : sumOf(turns, ({ deposits }) => deposits);
  const programs = names
    .map((name) => ({
      name,
      cpuMs: sumOf(turns, (one) => one.programs.get(name)?.cpuMs ?? 0),
      timeSlices: sumOf(turns, (one) => one.programs.get(name)?.timeSlices ?? 0),
    }))
    .toSorted((one, other) => other.cpuMs - one.cpuMs)
    .map(({ name, cpuMs, timeSlices }) => `${name} ${(cpuMs / unit).toFixed(2)} ms, ${(timeSlices / unit).toFixed(1)}`);
  const each = (of: (counts: ServerCounts) => ReadonlyMap<string, number>, minimum: number): [string, number][] =>
    [...new Set(turns.flatMap(({ counts }) => [...of(counts).keys()]))]
      .map((name): [string, number] => [name, sumOf(turns, ({ counts }) => of(counts).get(name) ?? 0) / unit])
      .filter(([, count]) => count >= minimum)
      .toSorted(([, one], [, other]) => other - one);
  const records = each((counts) => counts.records, 0.01).map(([topic, count]) => `${topic} ${count.toFixed(2)}`);
  const statements = each((counts) => counts.statements, MIN_STATEMENT_CALLS);
  const title = perSecond === 0 ? "idle, in total" : `${perSecond}/s, for each deposit`;
  return [
    title,
    `  CPU and time slices: ${programs.join("; ")}`,
    `  records: ${records.join("; ")}`,
    `  statements: ${sumOf(statements, ([, count]) => count).toFixed(2)}`,
    ...statements.map(([statement, count]) => `    ${count.toFixed(2)} ${statement}`),
  ].join("\n");
}

function printMemory(when: string, pids: ReadonlyMap<string, number>): void {
  const memory = memoryOf(pids);
  const each = Array.from(memory, ([name, bytes]) => `${name} ${Math.round(bytes / MIB)}`).join(", ");
  console.log(`memory (PSS) ${when}: ${Math.round(sumOf(memory.values(), (bytes) => bytes) / MIB)} MiB: ${each}`);
}

async function warmUp(peer: Peer, turn: number): Promise<void> {
  await openLoop(peer, { perSecond: WARM_UP_PER_SECOND, durationMs: turn === 0 ? FIRST_WARM_UP_MS : WARM_UP_MS });
}

async function run(): Promise<void> {
  const harness = await startAcceptHarness(STATE_DIR, { together: !EACH });
  const { servers, topicPrefix } = harness.stack;
  const logger = createLogger({ service: "bench", level: "error" });
  const kafka = createKafka({ brokers: servers.kafkaBrokers.split(","), clientId: "bench", topicPrefix, logger });
  const database = new pg.Client({ connectionString: servers.postgresUrl });
  await database.connect();
  await database.query("create extension if not exists pg_stat_statements");
  try {
    printMemory("fresh", recordedPids(STATE_DIR));
    const peers = [kapiPeer(harness), bullmqPeer({ REDIS_URL: servers.redisUrl, POSTGRES_URL: servers.postgresUrl })];
    const measured = new Map(peers.map((peer) => [peer, new Map(RATES.map((rate) => [rate, [] as Measured[]]))]));
    const ended = new Map<string, Map<string, Figures[]>>();
    for (let turn = 0; turn < TURNS; turn += 1) {
      for (const peer of turn % 2 === 0 ? peers : peers.toReversed()) {
        for (const other of peers) if (other !== peer) await other.stop();
        await peer.start();
        await warmUp(peer, turn);
        for (const rate of turn % 2 === 0 ? RATES : RATES.toReversed()) {
          const one = await hold(peer, rate, () => serverCounts(database, kafka));
          measured.get(peer)?.get(rate)?.push(one);
          console.log(row(peer.name, rate, [one]));
        }
        for (const [phase, figures] of await untilFinal(peer, harness.accounts)) {
          console.log(line(`${peer.name}, ${phase}`, figures));
          ended.set(
            phase,
            (ended.get(phase) ?? new Map<string, Figures[]>()).set(peer.name, [
              ...(ended.get(phase)?.get(peer.name) ?? []),
              figures,
            ]),
          );
        }
        if (peer.name === "kapi") printMemory("after load", peer.pids());
      }
    }
    console.log(`\nmean of ${TURNS} turns, with the least and the greatest\n${HEADER}`);
    for (const rate of RATES) {
      for (const peer of peers) console.log(row(peer.name, rate, measured.get(peer)?.get(rate) ?? []));
    }
    for (const [phase, ofPeers] of ended) {
      const rates = Array.from(
        ofPeers,
        ([name, figures]) => [name, sumOf(figures, (one) => one.perSecond) / figures.length] as const,
      );
      const of = new Map(rates);
      const ratio = (of.get("kapi") ?? NaN) / (of.get("BullMQ") ?? NaN);
      console.log(
        `until final, ${phase}: ${rates.map(([name, rate]) => `${name} ${Math.round(rate)}/s`).join(", ")}, ratio ${ratio.toFixed(2)}`,
      );
    }
    const [kapi] = peers;
    if (kapi !== undefined) for (const rate of RATES) console.log(details(rate, measured.get(kapi)?.get(rate) ?? []));
    for (const peer of peers) await peer.stop();
  } finally {
    await database.end();
    await harness.stop();
  }
}

await run();
