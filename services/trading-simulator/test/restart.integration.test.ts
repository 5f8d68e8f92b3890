import { randomUUID } from "node:crypto";

import type { TradingEvent } from "@kapi/contracts";
import { assertDefined, deferred, delay } from "@kapi/kernel";
import { startPool, statement } from "@kapi/postgres";
import { createLogger } from "@kapi/runtime";
import { anyAccountNumber, createTestEnvironment, eventually, type TestEnvironment } from "@kapi/testkit";
import { TradingServerUnreachable } from "@kapi/trading-server";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import {
  configuredServer,
  creation,
  deposit,
  followTopics,
  type Running,
  startTradingServer,
  type Topics,
} from "./support.ts";

/**
 * A process reads the stored state within this time, unless it waits for pending writes. A running
 * process stores states and its checkpoint within this time.
 */
const STARTED_WITHIN_MS = 3_000;
const WRITE_LATE = statement<Record<string, never>>(
  "test_write_late",
  `insert into journal (position, server_id, account_number, sequence, reference, event)
   select max(position) + 1, $1::uuid, $2, 3, $3, $4 from journal`,
);

let environment: TestEnvironment;
let topics: Topics;

beforeAll(async () => {
  environment = await createTestEnvironment({ needs: ["kafka", "postgres"] });
  topics = await followTopics(environment);
});

afterAll(async () => {
  await topics.stop();
  await environment.stop();
});

function eventsOf(accountNumber: string): TradingEvent[] {
  return topics.events.filter((event) => event.accountNumber === accountNumber);
}

/** Sequences in the order of their first arrival: repeats are allowed, gaps and swaps are not. */
function sequencesOf(accountNumber: string): number[] {
  return [...new Set(eventsOf(accountNumber).map((event) => event.sequence))];
}

function upTo(last: number): number[] {
  return Array.from({ length: last }, (_, index) => index + 1);
}

async function view(running: Running, serverId: string, account: string): Promise<unknown> {
  const [snapshot, history, control, prices] = await Promise.all([
    running.client.snapshot(serverId, account),
    running.client.history(serverId, account, 0, 1_000),
    running.control("GET", `/servers/${serverId}/accounts/${account}`),
    running.control("GET", `/servers/${serverId}/prices`),
  ]);
  const { positions, orders, autoTrader } = control.body;
  return {
    snapshot: { ...snapshot, measuredAt: null },
    history,
    positions,
    orders,
    autoTrader,
    prices: prices.body,
  };
}

async function tradingAccount(running: Running, serverId: string): Promise<string> {
  const account = anyAccountNumber();
  await running.client.change(serverId, [creation(account, 1_000_000), deposit(account, 500)]);
  const path = `/servers/${serverId}/accounts/${account}`;
  await running.control("POST", `${path}/orders`, { symbol: "EURUSD", side: "buy", volume: 1, stopLoss: 0.5 });
  await running.control("POST", `${path}/orders`, {
    symbol: "GBPUSD",
    side: "sell",
    volume: 0.5,
    orderType: "limit",
    price: 2,
  });
  await running.control("POST", `/servers/${serverId}/rollover`);
  await running.client.change(serverId, [deposit(account, 300), deposit(account, 200)]);
  return account;
}

describe("a restart", () => {
  it.each(["SIGTERM", "SIGKILL"] as const)(
    "after %s restores the account, its history, positions and orders, and the prices",
    async (signal) => {
      const first = await startTradingServer(environment);
      const serverId = await configuredServer(first);
      const account = await tradingAccount(first, serverId);
      await first.control("PUT", `/servers/${serverId}/market`, { paused: true });
      const before = await view(first, serverId, account);
      // Answered changes are stored, even if the states of their accounts are not stored yet.
      await first.kill(signal);

      const second = await startTradingServer(environment);
      expect(await view(second, serverId, account)).toEqual(before);
      const again = await second.client.change(serverId, [deposit(account, 1)]);
      expect(again).toMatchObject([{ status: "applied", event: { balanceMinor: 1_000_500 - 300 + 500 + 1 } }]);
      await second.kill("SIGTERM");
    },
  );

  it("between commit and publish loses no event: all arrive in order, and the account is valued", async () => {
    const first = await startTradingServer(environment);
    const serverId = await configuredServer(first);
    const account = anyAccountNumber();
    await first.client.change(serverId, [creation(account)]);
    await first.kill("SIGTERM");

    const doomed = await startTradingServer(environment, {
      FAULT_POINT: "trading-simulator.stored",
      FAULT_POINT_AFTER: "0",
    });
    const change = deposit(account, 700);
    await expect(doomed.client.change(serverId, [change])).rejects.toThrow(TradingServerUnreachable);
    expect(await doomed.ended).toBe("SIGKILL");
    expect(sequencesOf(account)).toEqual([1]);

    const second = await startTradingServer(environment);
    await eventually(() => expect(sequencesOf(account)).toEqual([1, 2]));
    expect(await second.client.settle(serverId, [change.reference])).toMatchObject([{ status: "applied" }]);
    expect(await second.client.change(serverId, [change])).toMatchObject([
      { status: "applied", event: { sequence: 2 } },
    ]);
    await eventually(() => {
      const last = topics.valuations.findLast((valuation) => valuation.accountNumber === account);
      expect(last?.balanceMinor).toBe(700);
    });
    await second.kill("SIGTERM");
  });

  it("waits for pending writes of the previous process, and continues after them", async () => {
    const first = await startTradingServer(environment);
    const serverId = await configuredServer(first);
    const account = anyAccountNumber();
    await first.client.change(serverId, [creation(account), deposit(account, 100)]);
    await eventually(() => expect(sequencesOf(account)).toEqual([1, 2]));
    await first.kill("SIGKILL");

    // Simulates a statement of the killed process that still waits for a standby.
    const pool = await startPool({
      connectionString: environment.postgresUrl,
      schema: "trading_server",
      applicationName: "test",
      logger: createLogger({ service: "test", level: "error" }),
    });
    const last = assertDefined(eventsOf(account).at(-1), "an event");
    const late = { ...last, sequence: 3, amountMinor: 50, balanceMinor: last.balanceMinor + 50 };
    const written = deferred<void>();
    const writing = pool.value.transaction(async (tx) => {
      await tx.query(WRITE_LATE, [serverId, account, randomUUID(), JSON.stringify(late)]);
      await written.promise;
    });
    const starting = startTradingServer(environment);
    await delay(STARTED_WITHIN_MS);
    written.resolve();
    await writing;

    const second = await starting;
    expect(await second.client.change(serverId, [deposit(account, 1)])).toMatchObject([
      { status: "applied", event: { sequence: 4, balanceMinor: 151 } },
    ]);
    await second.kill("SIGTERM");
    await pool.stop();
  });

  it("in the middle of many deposits books each deposit exactly once", async () => {
    const doomed = await startTradingServer(environment, {
      FAULT_POINT: "trading-simulator.stored",
      FAULT_POINT_AFTER: "12",
    });
    const serverId = await configuredServer(doomed);
    const accounts = Array.from({ length: 5 }, anyAccountNumber);
    await doomed.client.change(
      serverId,
      accounts.map((account) => creation(account)),
    );
    const deposits = Array.from({ length: 60 }, (_, index) => deposit(accounts[index % 5] ?? "", 1 + index));
    let unclear = 0;
    for (const change of deposits) {
      try {
        await doomed.client.change(serverId, [change]);
      } catch {
        unclear += 1;
      }
    }
    expect(unclear).toBeGreaterThan(0);
    await doomed.ended;

    const second = await startTradingServer(environment);
    const outcomes = await second.client.change(serverId, deposits);
    expect(outcomes.every((outcome) => outcome.status === "applied")).toBe(true);
    const total = deposits.reduce((sum, change) => sum + (change.type === "balance" ? change.amountMinor : 0), 0);
    const snapshots = await Promise.all(accounts.map((account) => second.client.snapshot(serverId, account)));
    expect(snapshots.reduce((sum, snapshot) => sum + (snapshot?.balanceMinor ?? 0), 0)).toBe(total);
    for (const account of accounts) await eventually(() => expect(sequencesOf(account)).toEqual(upTo(13)));
    await second.kill("SIGTERM");
  });

  it("keeps every outcome permanently: applied with or without an effect, refused and closed", async () => {
    const first = await startTradingServer(environment);
    const serverId = await configuredServer(first);
    const account = anyAccountNumber();
    const changes = [
      creation(account, 100),
      { ...deposit(account, 500), kind: "withdrawal" as const },
      { reference: randomUUID(), accountNumber: account, type: "set_status" as const, status: "active" as const },
    ];
    const closed = randomUUID();
    const references = [...changes.map((change) => change.reference), closed];
    await first.client.change(serverId, changes);
    const before = await first.client.settle(serverId, references);
    expect(before.map((outcome) => outcome.status)).toEqual(["applied", "refused", "applied", "closed"]);
    await first.kill("SIGKILL");

    const second = await startTradingServer(environment);
    expect(await second.client.settle(serverId, references)).toEqual(before);
    await second.kill("SIGTERM");
  });

  it("claims the journal: an older process stores nothing any more, and ends at its next write", async () => {
    const older = await startTradingServer(environment);
    const serverId = await configuredServer(older);
    const account = anyAccountNumber();
    await older.client.change(serverId, [creation(account)]);
    const newer = await startTradingServer(environment);
    await expect(older.client.change(serverId, [deposit(account, 5)])).rejects.toThrow(TradingServerUnreachable);
    await older.ended;
    expect(await newer.client.change(serverId, [deposit(account, 1)])).toMatchObject([
      { status: "applied", event: { balanceMinor: 1 } },
    ]);
    await newer.kill("SIGTERM");
  });

  it("keeps every change if the older process stops after the newer one has started, as in a rolling upgrade", async () => {
    const older = await startTradingServer(environment, { SNAPSHOT_INTERVAL_MS: "600000" });
    const serverId = await configuredServer(older);
    const account = anyAccountNumber();
    await older.client.change(serverId, [creation(account)]);
    // The deposit is stored without the account's state. The older process stores the state only
    // when it stops.
    await older.client.change(serverId, [deposit(account, 100)]);
    const newer = await startTradingServer(environment);
    await newer.client.change(serverId, [deposit(account, 10)]);
    // Meanwhile the newer process stores the account's state, and a checkpoint.
    await delay(STARTED_WITHIN_MS);
    await older.kill("SIGTERM");
    await newer.client.change(serverId, [deposit(account, 1)]);
    await newer.kill("SIGKILL");
    const third = await startTradingServer(environment);
    expect(await third.client.change(serverId, [deposit(account, 1)])).toMatchObject([
      { status: "applied", event: { balanceMinor: 112 } },
    ]);
    await third.kill("SIGTERM");
  });
});
