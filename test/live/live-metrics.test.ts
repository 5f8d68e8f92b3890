/**
 * The live stream while processes are killed, paused and restarted, and while clients do not read.
 * Clients verify every message, and a witness checks the log. The long version with the simulated
 * trading server: `npm run scenario -- live-soak`.
 */
import { delay } from "@kapi/kernel";
import { createLogger } from "@kapi/runtime";
import { eventually } from "@kapi/testkit";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";

import { Harness } from "../../services/metrics/test/harness.ts";
import type { Checker } from "./checker.ts";
import { RandomSource } from "./random-source.ts";
import { Disturbances } from "./disturbances.ts";
import { Fleet } from "./fleet.ts";
import { RandomMarket } from "./market.ts";
import { ZombieWriter } from "./zombie-writer.ts";
import { slowReaders } from "./slow-readers.ts";
import { Trial } from "./trial.ts";

/** Set `LIVE_SEED` to repeat the random choices of a run. */
const SEED = Number(process.env["LIVE_SEED"] ?? Date.now() % 1_000_000);
const ACCOUNTS = 30;
const PER_SECOND = 500;
const CLIENTS = 4;
const MEAN_CUT_MS = 1_500;
/** Longer than the windows of the busiest accounts. */
const LONG_ABSENCE = { ms: 9_000, probability: 0.08 };
/** The session timeout of the metrics processes. */
const SESSION_TIMEOUT_MS = 3_000;
const SETTLE_TIMEOUT_MS = 60_000;
const TEST_TIMEOUT_MS = 240_000;
const STUCK_TIMEOUT_MS = 6_000;
/** Time between two rounds of valuations, before and after the slow readers' sockets are full. */
const FILLING_MS = 10;
const FILLED_MS = 100;
const WINDOW_SAMPLES = 300;
const MAX_BUFFERED_BYTES = 2 * 1_024 * 1_024;
const RESTART = 1012;
const SLOW_CONSUMER = 4408;
const MAX_STOPS = 5;

const logger = createLogger({ service: "live-test", level: "error" });
let harness: Harness;
let fleet: Fleet | null = null;
let trial: Trial | null = null;

beforeAll(async () => {
  harness = await Harness.start();
});

afterEach(async () => {
  await trial?.stop();
  await fleet?.stop();
});

afterAll(async () => {
  await harness.scope.stop();
});

/**
 * Starts the trial, whose witness reads the log. The fleet has no processes yet, and the market
 * publishes nothing yet.
 */
async function begin(
  seed: number,
  env: Record<string, string>,
): Promise<{ fleet: Fleet; trial: Trial; market: RandomMarket; accounts: readonly string[]; random: RandomSource }> {
  const random = new RandomSource(seed);
  const { kafka, producer, serverId, managementKey } = harness;
  const accounts = Array.from({ length: ACCOUNTS }, () => harness.account());
  fleet = new Fleet({
    ...harness.metricsEnv,
    OPERATOR_TOKEN: harness.environment.secrets.serviceTokens.operator,
    LOG_LEVEL: "error",
    KAFKA_SESSION_TIMEOUT_MS: String(SESSION_TIMEOUT_MS),
    ...env,
  });
  trial = await Trial.start({ kafka, logger, serverId, managementKey, accounts, random: random.fork() });
  const market = new RandomMarket({ producer, serverId, accounts, random: random.fork() });
  return { fleet, trial, market, accounts, random };
}

function sum(checkers: readonly Checker[], of: (checker: Checker) => number): number {
  return checkers.reduce((total, checker) => total + of(checker), 0);
}

describe(`the live stream (LIVE_SEED=${SEED})`, () => {
  it(
    "sends each sequence once or announces the gap, although processes crash, pause and rebalance, and sockets are cut; all clients get the same bytes of each sample, and the minimum equity is correct",
    { timeout: TEST_TIMEOUT_MS },
    async () => {
      const { fleet, trial, market, accounts, random } = await begin(SEED, { COALESCE_MS: "200" });
      const [first, second, stream, otherStream] = await Promise.all([
        fleet.add("sequencer-1", "sequencer"),
        fleet.add("sequencer-2", "sequencer"),
        fleet.add("stream-1", "stream"),
        fleet.add("stream-2", "stream"),
      ]);
      market.start(PER_SECOND);
      for (let index = 1; index <= CLIENTS; index += 1) {
        trial.add(`client-${index}`, [stream, otherStream], { meanCutMs: MEAN_CUT_MS, longAbsence: LONG_ABSENCE });
      }
      const { producer, serverId } = harness;
      const zombie = new ZombieWriter({ producer, witness: trial.witness, serverId, accounts, random: random.fork() });
      zombie.start();
      const disturbances = new Disturbances(fleet, SESSION_TIMEOUT_MS);
      const { checkers } = trial;
      const restartCloses = (): number => sum(checkers, ({ counts }) => counts.closes.get(RESTART) ?? 0);
      const sequencers = async (): Promise<void> => {
        await disturbances.killSequencer(first, random.whole(0, 500));
        await disturbances.makeZombie(second, 1_000);
        await disturbances.rebalance(500);
      };
      const streams = async (): Promise<void> => {
        // Repeated until a client was connected during a stop.
        for (let stops = 0; stops < MAX_STOPS && restartCloses() === 0; stops += 1)
          await disturbances.stopStream(stream);
        await disturbances.killStream(otherStream);
      };
      await Promise.all([sequencers(), streams()]);
      await zombie.stop();
      await market.stop();
      await trial.settle(SETTLE_TIMEOUT_MS);
      expect(trial.violations.kept).toEqual([]);
      // The run must have caused the intended faults.
      expect(sum(trial.checkers, ({ counts }) => counts.cuts)).toBeGreaterThan(10);
      expect(restartCloses()).toBeGreaterThan(0);
      expect(trial.witness.unchanged).toBeGreaterThan(0);
      expect(trial.witness.refused).toBeGreaterThan(0);
    },
  );

  it(
    "buffers under 2 MiB for a client that stops reading, and loses no sample of others; the client gets a gap notice, or is closed with 4408 and can reconnect",
    { timeout: TEST_TIMEOUT_MS },
    async () => {
      const { fleet, trial, market, accounts, random } = await begin(SEED + 1, {
        STUCK_TIMEOUT_MS: String(STUCK_TIMEOUT_MS),
      });
      const both = await fleet.add("both", "sequencer,stream");
      await market.round();
      const account = random.pick(accounts);
      const other = trial.add("other", [both]);
      const [late, stuck] = [trial.add("late", [both]), trial.add("stuck", [both])];
      await eventually(() => trial.checkers.every((checker) => checker.isSubscribed), { timeoutMs: 30_000 });
      let pauseMs = FILLING_MS;
      const fed = new AbortController();
      const feeding = (async () => {
        for (; !fed.signal.aborted; await delay(pauseMs)) await market.round();
      })();
      const { slow } = await slowReaders({
        stream: both,
        stuckTimeoutMs: STUCK_TIMEOUT_MS,
        others: [other],
        late,
        lateMs: 0,
        stuck,
        stuckMs: 0,
        controlMs: 0,
        onStalled: async () => {
          pauseMs = FILLED_MS;
          const gapAt = other.processed(account) + WINDOW_SAMPLES;
          await market.burst(account, 2 * WINDOW_SAMPLES);
          await eventually(() => other.processed(account) > gapAt, { timeoutMs: STUCK_TIMEOUT_MS });
        },
      }).finally(() => fed.abort());
      await feeding;
      await market.stop();
      await trial.settle(SETTLE_TIMEOUT_MS);
      expect(trial.violations.kept).toEqual([]);
      expect(slow.mostBufferedBytes).toBeLessThan(MAX_BUFFERED_BYTES);
      expect(late.counts.connections).toBe(1);
      expect(late.counts.gaps).toBeGreaterThan(0);
      expect([...stuck.counts.closes]).toEqual([[SLOW_CONSUMER, 1]]);
      expect(other.counts).toMatchObject({ connections: 1, gaps: 0, truncated: 0 });
    },
  );
});
