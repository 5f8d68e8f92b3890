/**
 * `npm run scenario -- live-soak` runs kapi with the simulated trading server. Accounts trade
 * automatically, and clients of the live stream verify every message. First, two clients stop
 * reading, for 20 and 60 seconds. Then processes are killed and paused, and partitions are
 * rebalanced, while the clients cut their sockets about 70 times a minute. Violations are printed;
 * the exit code is then 1.
 * `LIVE_SOAK_MINUTES` (10) sets the duration, `LIVE_SEED` the random choices. With the argument
 * `windows`, stream processes read no samples: they follow two or three windows processes, which
 * are killed, paused and changed in number too.
 */
import { delay } from "@kapi/kernel";
import { createKafka } from "@kapi/kafka";
import { createLogger } from "@kapi/runtime";
import { serviceTokenDigests } from "@kapi/servers";
import { startTestStack, type TestStack } from "@kapi/local/test-stack";
import { eventually } from "@kapi/testkit";

import startServers from "../../libs/testkit/src/global-setup.ts";
import type { Checker } from "./checker.ts";
import { Delays } from "./delays.ts";
import { RandomSource } from "./random-source.ts";
import { Disturbances } from "./disturbances.ts";
import { Fleet, type FleetMember } from "./fleet.ts";
import { type SlowReaderFigures, slowReaders } from "./slow-readers.ts";
import { TradingFloor } from "./trading-floor.ts";
import { Trial } from "./trial.ts";
import { WindowsFleet } from "./windows-fleet.ts";

const MINUTES = Number(process.env["LIVE_SOAK_MINUTES"] ?? 10);
const WITH_WINDOWS = process.argv[2] === "windows";
const SEED = Number(process.env["LIVE_SEED"] ?? Date.now() % 1_000_000);
const ACCOUNTS = 40;
const CLIENTS = 4;
/**
 * Cuts of all clients together, on average. A run of ten minutes has more than 500 cuts, although
 * no socket is cut in about the first two minutes.
 */
const CUTS_PER_MINUTE = 70;
/** Sometimes a client is disconnected for longer than the windows of busy accounts. */
const LONG_ABSENCE = { ms: 25_000, probability: 0.02 };
/** How long a client is disconnected on average. */
const MEAN_ABSENCE_MS = 1_000;
const MEAN_CUT_MS = (60_000 * CLIENTS) / CUTS_PER_MINUTE - MEAN_ABSENCE_MS;
const TICK_INTERVAL_MS = 60;
const COALESCE_MS = 200;
const SESSION_TIMEOUT_MS = 10_000;
const STUCK_TIMEOUT_MS = 30_000;
const CONTROL_MS = 20_000;
const LATE_MS = 20_000;
const STUCK_MS = 60_000;
/**
 * Maximum time between two disturbances of one kind of process, and maximum stay of an added
 * sequencer.
 */
const MAX_REST_MS = 8_000;
/** Maximum time until a killed process restarts. */
const MAX_DOWN_MS = 3_000;
/** Maximum time for which a process stays paused after other processes have taken over its work. */
const MAX_BEYOND_MS = 5_000;
/** A windows process is chosen by a number from 0 to this, modulo the number of processes. */
const MAX_WINDOWS_INSTANCE = 5;
const DEPOSIT_EVERY_MS = 500;
const PROGRESS_EVERY_MS = 15_000;
const SETTLE_TIMEOUT_MS = 120_000;
const MAX_BUFFERED_BYTES = 2 * 1_024 * 1_024;
const SERVICES = ["account", "command-status", "export", "finance", "gateway", "organization", "trading-simulator"];
const KEEPS_UP_MS = 1_000;
const KIB = 1_024;
const MIB = KIB * KIB;

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

function sum(checkers: readonly Checker[], of: (checker: Checker) => number): number {
  return checkers.reduce((total, checker) => total + of(checker), 0);
}

interface Soak {
  readonly fleet: Fleet;
  /** Null if the stream processes read the samples themselves. */
  readonly windows: WindowsFleet | null;
  readonly trial: Trial;
  readonly floor: TradingFloor;
  readonly random: RandomSource;
}

/** Prepares the fleet, accounts and trial. The fleet runs the metrics processes. */
async function begin(stack: TestStack, random: RandomSource): Promise<Soak> {
  const demo = await stack.createDemo();
  const { servers, topicPrefix, secrets } = stack;
  const logger = createLogger({ service: "live-soak", level: "error" });
  const kafka = createKafka({ brokers: servers.kafkaBrokers.split(","), clientId: "live-soak", topicPrefix, logger });
  const fleet = new Fleet({
    HTTP_HOST: "127.0.0.1",
    LOG_LEVEL: "error",
    KAFKA_BROKERS: servers.kafkaBrokers,
    KAFKA_TOPIC_PREFIX: topicPrefix,
    POSTGRES_URL: servers.postgresUrl,
    REDIS_URL: servers.redisUrl,
    SERVICE_TOKEN: secrets.serviceTokens.metrics,
    SERVICE_TOKEN_DIGESTS: serviceTokenDigests(secrets),
    // The fleet reads the load of its members with this token.
    OPERATOR_TOKEN: secrets.serviceTokens.operator,
    ACCOUNT_URL: stack.url("account"),
    // Sequencers require this setting. They would use it only to answer requests for samples, and
    // this run sends no such requests.
    SAMPLES_URL: stack.url("account"),
    KAFKA_SESSION_TIMEOUT_MS: String(SESSION_TIMEOUT_MS),
    STUCK_TIMEOUT_MS: String(STUCK_TIMEOUT_MS),
    COALESCE_MS: String(COALESCE_MS),
  });
  try {
    const floor = await TradingFloor.open(demo, ACCOUNTS, random.fork());
    const { serverId, managementKey } = demo;
    const options = { kafka, logger, serverId, managementKey, accounts: floor.accounts, random: random.fork() };
    const trial = await Trial.start({ ...options, report: (text) => say(`WRONG  ${text}`) });
    const windows = WITH_WINDOWS ? await WindowsFleet.start(fleet) : null;
    return { fleet, windows, trial, floor, random };
  } catch (error) {
    await fleet.stop();
    throw error;
  }
}

function addStream({ fleet, windows }: Soak, name: string): Promise<FleetMember> {
  return windows?.addStream(fleet, name) ?? fleet.add(name, "stream");
}

/** Two clients stop reading. Every valuation causes a sample, so that their sockets fill. */
async function readSlowly(soak: Soak): Promise<SlowReaderFigures> {
  const { fleet, trial } = soak;
  const uncoalesced = await fleet.add("uncoalesced", "sequencer", { COALESCE_MS: "0" });
  const stream = await addStream(soak, "stream-1");
  const others = Array.from({ length: CLIENTS - 2 }, (_, index) => trial.add(`other-${index + 1}`, [stream]));
  const [late, stuck] = [trial.add("late", [stream]), trial.add("stuck", [stream])];
  await eventually(() => trial.checkers.every(({ isSubscribed }) => isSubscribed), { timeoutMs: 60_000 });
  const figures = await slowReaders({
    stream,
    stuckTimeoutMs: STUCK_TIMEOUT_MS,
    others,
    late,
    lateMs: LATE_MS,
    stuck,
    stuckMs: STUCK_MS,
    controlMs: CONTROL_MS,
  });
  if (figures.slow.mostBufferedBytes >= MAX_BUFFERED_BYTES) {
    trial.violations.add(`${figures.slow.mostBufferedBytes} bytes waited for a reader that did not read`);
  }
  for (const { name, counts } of [...others, late]) {
    if (counts.connections !== 1) trial.violations.add(`${name} lost its connection because of a slow reader`);
  }
  // On an overloaded machine every reader is slow.
  const keepsUp = figures.control.delays.at(0.99) < KEEPS_UP_MS;
  for (const { name, counts } of others) {
    if (counts.gaps > 0 && keepsUp) trial.violations.add(`${name} had a gap because of a slow reader`);
  }
  await Promise.all(trial.checkers.map((checker) => checker.stop()));
  await uncoalesced.end("SIGTERM");
  return figures;
}

/**
 * Disturbs sequencers, stream processes and windows processes at random and concurrently, until
 * `endMs`.
 */
async function disturb({ fleet, windows, random }: Soak, endMs: number): Promise<Disturbances> {
  const disturbances = new Disturbances(fleet, SESSION_TIMEOUT_MS);
  const sequencers = [fleet.member("sequencer-1"), fleet.member("sequencer-2")];
  const streams = [fleet.member("stream-1"), fleet.member("stream-2")];
  const repeat = async (random: RandomSource, what: readonly (() => Promise<void>)[]): Promise<void> => {
    // First each disturbance once, then at random.
    for (let turn = 0; Date.now() < endMs; turn += 1) {
      await (what[turn] ?? random.pick(what))();
      await delay(random.whole(0, MAX_REST_MS));
    }
  };
  const [ofSequencers, ofStreams, ofWindows] = [random.fork(), random.fork(), random.fork()];
  // A change of the number of windows processes also restarts the stream processes. Disturbances
  // that restart stream processes run one after another.
  let streamsTurn: Promise<unknown> = Promise.resolve();
  const alone = (work: () => Promise<void>): Promise<void> => {
    const turn = streamsTurn.then(work);
    streamsTurn = turn;
    return turn;
  };
  const sequencer = (): FleetMember => ofSequencers.pick(sequencers);
  await Promise.all([
    repeat(ofSequencers, [
      () => disturbances.killSequencer(sequencer(), ofSequencers.whole(0, MAX_DOWN_MS)),
      () => disturbances.makeZombie(sequencer(), ofSequencers.whole(1_000, MAX_BEYOND_MS)),
      () => disturbances.rebalance(ofSequencers.whole(0, MAX_REST_MS)),
    ]),
    repeat(ofStreams, [
      () => alone(() => disturbances.stopStream(ofStreams.pick(streams))),
      () => alone(() => disturbances.killStream(ofStreams.pick(streams))),
    ]),
    windows === null
      ? null
      : repeat(ofWindows, [
          () => windows.kill(ofWindows.whole(0, MAX_WINDOWS_INSTANCE), ofWindows.whole(0, MAX_DOWN_MS)),
          () => alone(() => windows.rescale()),
          () => windows.pause(ofWindows.whole(0, MAX_WINDOWS_INSTANCE), ofWindows.whole(0, MAX_BEYOND_MS)),
          () => windows.stopOne(ofWindows.whole(0, MAX_WINDOWS_INSTANCE)),
        ]),
  ]);
  return disturbances;
}

function progress({ trial }: Soak, beganMs: number): void {
  const { checkers, witness, violations } = trial;
  const seconds = Math.round((Date.now() - beganMs) / 1_000);
  const cuts = sum(checkers, ({ counts }) => counts.cuts);
  const samples = sum(checkers, ({ counts }) => counts.samples);
  say(
    `${seconds} s: ${cuts} cuts, ${samples} samples checked, ${witness.accepted} accepted, ${witness.refused} rejected, ${violations.count} violations`,
  );
}

function summary({ trial, windows }: Soak, disturbances: Disturbances, slow: SlowReaderFigures, delays: Delays): void {
  const { checkers, programs, witness, violations } = trial;
  const total = (of: (checker: Checker) => number): number => sum(checkers, of);
  const closes = new Map<number, number>();
  for (const { counts } of checkers) {
    for (const [code, count] of counts.closes) closes.set(code, (closes.get(code) ?? 0) + count);
  }
  const resident = (bytes: number | null): string => (bytes === null ? "?" : `${(bytes / MIB).toFixed(1)} MiB`);
  const ratio = slow.slow.delays.at(0.99) / Math.max(1, slow.control.delays.at(0.99));
  const done = Object.entries({ ...disturbances.counts, ...windows?.counts }).map(
    ([name, count]) => `${name} ${count}`,
  );
  say(`
cuts                     ${total(({ counts }) => counts.cuts)}, connections ${total(({ counts }) => counts.connections)}
closed by the server     ${[...closes].map(([code, count]) => `${code}: ${count}`).join(", ")}
disturbances             ${done.join(", ")}
samples in the log       ${witness.accepted} accepted, ${witness.refused} rejected, ${witness.unchanged} unchanged valuations
samples checked          ${total(({ counts }) => counts.samples)} at clients, including the field intervalMinimumEquity
replays truncated        ${total(({ counts }) => counts.truncated)}, gaps announced to slow readers ${total(({ counts }) => counts.gaps)}, notices with a last sequence below the client's ${total(({ counts }) => counts.behind)}
client library           ${programs
    .map(({ counts }) =>
      Object.entries(counts)
        .map(([name, count]) => `${name} ${count}`)
        .join(", "),
    )
    .join("; ")}
delay, all reading       ${slow.control.delays.toString()}
delay, two not reading   ${slow.slow.delays.toString()}; p99 ratio ${ratio.toFixed(2)}
delay, disturbed         ${delays.toString()}
a reader not reading     sockets full after ${(slow.filledMs / 1_000).toFixed(1)} s; at most ${Math.round(slow.slow.mostBufferedBytes / KIB)} KiB buffered for it (${Math.round(slow.control.mostBufferedBytes / KIB)} KiB for one that reads)
memory of stream-1       ${resident(slow.control.residentBytes)} before, ${resident(slow.slow.residentBytes)} with two such readers
violations               ${violations.count}`);
}

async function run(stack: TestStack): Promise<boolean> {
  const beganMs = Date.now();
  const soak = await begin(stack, new RandomSource(SEED));
  const { fleet, trial, floor } = soak;
  const timers = [
    setInterval(() => progress(soak, beganMs), PROGRESS_EVERY_MS),
    setInterval(() => void floor.deposit().catch((error: unknown) => say(String(error))), DEPOSIT_EVERY_MS),
  ];
  try {
    say(`${ACCOUNTS} accounts trade; two of ${CLIENTS} clients stop reading, for ${LATE_MS} and ${STUCK_MS} ms`);
    const slow = await readSlowly(soak);
    await Promise.all([
      fleet.add("sequencer-1", "sequencer"),
      fleet.add("sequencer-2", "sequencer"),
      addStream(soak, "stream-2"),
    ]);
    const endMs = Math.max(beganMs + MINUTES * 60_000, Date.now());
    say(`processes are disturbed and sockets cut until ${MINUTES} minutes are over`);
    const streams = [fleet.member("stream-1"), fleet.member("stream-2")];
    const delays = new Delays();
    for (let index = 1; index <= CLIENTS; index += 1) {
      trial.add(`client-${index}`, streams, { meanCutMs: MEAN_CUT_MS, longAbsence: LONG_ABSENCE }).delays = delays;
    }
    trial.addProgram(streams, stack.baseUrl);
    const disturbances = await disturb(soak, endMs);
    for (const timer of timers) clearInterval(timer);
    await floor.close();
    await trial.settle(SETTLE_TIMEOUT_MS);
    summary(soak, disturbances, slow, delays);
    return trial.violations.count === 0;
  } finally {
    for (const timer of timers) clearInterval(timer);
    await trial.stop();
    await fleet.stop();
  }
}

say(`LIVE_SEED=${SEED} LIVE_SOAK_MINUTES=${MINUTES}`);
const stopServers = await startServers();
let passed = false;
try {
  const stack = await startTestStack({
    services: SERVICES,
    env: { "trading-simulator": { TICK_INTERVAL_MS: String(TICK_INTERVAL_MS), MARKET_SEED: `soak-${SEED}` } },
  });
  try {
    passed = await run(stack);
  } finally {
    await stack.stop();
  }
} finally {
  await stopServers();
}
process.exitCode = passed ? 0 : 1;
