/**
 * `kapi admin partitions grow` raises the number of partitions from 4 to 12, then to 24, while
 * callers, prices and live clients continue. A whole kapi runs, with one process for each service.
 * The command is killed twice, and continues when it is run again.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import path from "node:path";

import { GROWING_TOPICS } from "@kapi/contracts";
import { createKafka, GROWTH_VALID_MS, partitionOfKey, topicSizes } from "@kapi/kafka";
import { startTestStack, type TestStack } from "@kapi/local/test-stack";
import { createLogger } from "@kapi/runtime";
import { eventually } from "@kapi/testkit";
import { afterAll, beforeAll, expect, it } from "vitest";

import { readLedger } from "../e2e/ledger-view.ts";
import { OutsideClient, pause } from "../e2e/outside-client.ts";
import { TradingControl } from "../e2e/trading-control.ts";
import { LiveFollower } from "./live-follower.ts";

const CLI = path.resolve(import.meta.dirname, "../../deploy/cli/src/main.ts");
const [BEFORE, AFTER, LAST] = [4, 12, 24];
const ACCOUNTS = 8;
const HIGH_LEVERAGE = 500;
const FIRST_BALANCE = 10_000;
const MAX_LOSS = { id: "max", type: "maxLoss", limit: { percent: 10 }, action: "notify" };
/** Maximum time from the first attempt of a deposit to its acceptance. */
const MAX_OUTAGE_MS = 60_000;
const SETTLE_TIMEOUT_MS = 90_000;
const TEST_TIMEOUT_MS = 480_000;

let stack: TestStack;
let client: OutsideClient;
let control: TradingControl;

beforeAll(async () => {
  stack = await startTestStack({
    supervised: true,
    env: { all: { KAFKA_SESSION_TIMEOUT_MS: "6000", QUOTES_FILE: "" } },
  });
  const demo = await stack.createDemo();
  client = new OutsideClient(demo);
  control = new TradingControl(demo);
});

afterAll(() => stack.stop());

function kafka() {
  const { kafkaBrokers, topicPrefix } = stack.environment;
  const logger = createLogger({ service: "test", level: "silent" });
  return createKafka({ brokers: kafkaBrokers.split(","), topicPrefix, clientId: "test", logger });
}

/** Runs the command as a process; `ended` resolves to its exit code, or null if it was killed. */
function grow(
  faultPoint?: string,
  to: number = AFTER,
): { process: ChildProcess; said: () => string; ended: Promise<number | null> } {
  const { kafkaBrokers: KAFKA_BROKERS, topicPrefix: KAFKA_TOPIC_PREFIX } = stack.environment;
  const child = spawn(process.execPath, [CLI, "admin", "partitions", "grow", "--to", String(to)], {
    env: {
      ...process.env,
      KAFKA_BROKERS,
      KAFKA_TOPIC_PREFIX,
      ...(faultPoint === undefined ? {} : { FAULT_POINT: faultPoint }),
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let said = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (data: Buffer) => (said += data.toString()));
  const ended = new Promise<number | null>((resolve) => child.once("exit", resolve));
  return { process: child, said: () => said, ended };
}

/** Deposits into one account. Each deposit starts after the acceptance of the previous one. */
class Caller {
  readonly account: string;
  /** Ids of the accepted commands, in the order of their acceptance. */
  readonly accepted: string[] = [];
  /** The longest time from the first attempt of a deposit to its acceptance. */
  longestWaitMs = 0;
  #running: Promise<void>;
  #stopped = false;

  constructor(account: string) {
    this.account = account;
    this.#running = this.#run();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#running;
  }

  async #run(): Promise<void> {
    while (!this.#stopped) {
      const startedMs = performance.now();
      this.accepted.push(await this.#deposit(randomUUID()));
      this.longestWaitMs = Math.max(this.longestWaitMs, performance.now() - startedMs);
      await pause(100);
    }
  }

  async #deposit(key: string): Promise<string> {
    for (;;) {
      const { status, headers, body } = await client.deposit(this.account, { amount: 1, requestId: key }, key);
      if (status === 200 || status === 202) return body.command.id;
      expect([status, headers.get("retry-after")]).toEqual([500, expect.stringMatching(/^\d+$/)]);
      await pause(250);
    }
  }
}

/** Waits until each caller has several further deposits accepted. */
async function expectProgress(callers: readonly Caller[]): Promise<void> {
  const counts = callers.map(({ accepted }) => accepted.length);
  await eventually(
    () => callers.forEach(({ accepted }, index) => expect(accepted.length).toBeGreaterThan((counts[index] ?? 0) + 3)),
    { timeoutMs: SETTLE_TIMEOUT_MS },
  );
}

/** Sets a rule for the maximum loss of an account. */
async function setRule(account: string): Promise<void> {
  const body = { rules: [MAX_LOSS], requestId: "rules" };
  const { body: queued } = await client.queue("PUT", `/accounts/${account}/risk-rules`, body);
  await client.succeeded(queued.command.id);
}

/** The number of an account's breaches; -1 while they cannot be read. */
async function breachesOf(account: string): Promise<number> {
  const answer = await client.call<{ breaches: readonly unknown[] }>(
    "GET",
    client.server(`/accounts/${account}/breaches`),
  );
  return answer.status === 200 ? answer.body.breaches.length : -1;
}

/** Lowers a price so far that a rule is breached, and restores it after less than a second. */
async function dip(symbol: string): Promise<void> {
  const { bid, ask } = await control.price(symbol);
  await control.holdPrice(symbol, bid - 0.015, ask - 0.015);
  await pause(400);
  await control.holdPrice(symbol, bid, ask);
}

it(
  "a growth of the topics loses, repeats and reorders nothing, and callers wait for less than a minute",
  async () => {
    const accounts: string[] = [];
    for (let index = 0; index < ACCOUNTS; index += 1)
      accounts.push(await client.openAccount(FIRST_BALANCE, HIGH_LEVERAGE));
    const moving = accounts.filter((account) => {
      const key = `${client.demo.serverId}/${account}`;
      return partitionOfKey(key, BEFORE) !== partitionOfKey(key, AFTER);
    });
    expect(moving.length).toBeGreaterThan(0);
    // One account breaches its rule during the first growth, another account after both growths.
    const [during, afterwards] = [moving[0] ?? "", accounts.find((account) => account !== moving[0]) ?? ""];
    for (const account of [during, afterwards]) await setRule(account);
    const { bid, ask } = await control.price("EURUSD");
    await control.holdPrice("EURUSD", bid, ask);
    await control.buy(during, "EURUSD", 1);
    const quotes = await control.price("GBPUSD");
    await control.holdPrice("GBPUSD", quotes.bid, quotes.ask);
    await control.buy(afterwards, "GBPUSD", 1);

    const followers = accounts.map((account) => new LiveFollower(client, account));
    const callers = accounts.map((account) => new Caller(account));
    await pause(2_000);
    const announcing = grow();
    await eventually(() => expect(announcing.said()).toContain("Everything continues"), { timeoutMs: 20_000 });
    announcing.process.kill("SIGKILL");
    await announcing.ended;
    // Possibly not every process has read the announcement, so the command announces again.
    const killed = grow("grow.grown");
    await eventually(() => expect(killed.said()).toContain("Everything continues"), { timeoutMs: 20_000 });
    await pause(GROWTH_VALID_MS - 3_000);
    // Accepted deposits wait in the inbox from now on.
    await control.inject({ kind: "unreachable", count: null });
    await eventually(() => expect(killed.said()).toContain("wait"), { timeoutMs: 20_000 });
    await pause(1_000);
    await dip("EURUSD");
    expect(await killed.ended).toBeNull();
    expect(killed.said()).toContain("Restarted processes wait");
    const finishing = grow();
    expect(await finishing.ended, finishing.said()).toBe(0);

    await expectProgress(callers);
    await control.clearFaults();
    // A second growth, by one run of the command.
    const again = grow(undefined, LAST);
    expect(await again.ended, again.said()).toBe(0);
    await expectProgress(callers);
    await eventually(async () => expect(await breachesOf(during)).toBe(1), { timeoutMs: SETTLE_TIMEOUT_MS });
    await dip("GBPUSD");
    await eventually(async () => expect(await breachesOf(afterwards)).toBe(1), { timeoutMs: SETTLE_TIMEOUT_MS });
    await Promise.all(callers.map((caller) => caller.stop()));
    for (const [index, account] of accounts.entries())
      await followers[index]?.reached((await control.account(account)).balanceMinor / 100);

    for (const { account, accepted, longestWaitMs } of callers) {
      expect(longestWaitMs).toBeLessThan(MAX_OUTAGE_MS);
      for (const id of accepted) await client.succeeded(id);
      const ledger = await readLedger(stack.servers.postgresUrl, client.demo.serverId, account);
      const deposits = ledger.filter(({ commandId, type }) => type === "deposit" && commandId !== null);
      expect(deposits.map(({ commandId }) => commandId)).toEqual(accepted);
      const balance = ledger.reduce((sum, { amountMinor }) => sum + amountMinor, 0);
      expect((await control.account(account)).balanceMinor).toBe(balance);
    }
    for (const follower of followers) {
      const { samples, faults } = await follower.stop();
      expect(faults).toEqual([]);
      expect(samples).toBeGreaterThan(0);
    }
    const sizes = await topicSizes(kafka());
    expect(sizes.map(({ partitions }) => partitions)).toEqual(GROWING_TOPICS.map(() => LAST));
  },
  TEST_TIMEOUT_MS,
);
