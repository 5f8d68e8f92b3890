import { writeFile } from "node:fs/promises";
import path from "node:path";

import { createTestEnvironment, eventually, type TestEnvironment } from "@kapi/testkit";
import { TradingServerUnreachable } from "@kapi/trading-server";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { anyRecording, configuredServer, creation, followTopics, type Running, startTradingServer } from "./support.ts";

const ACCOUNT = "10000001";

let environment: TestEnvironment;
let running: Running;

beforeAll(async () => {
  environment = await createTestEnvironment({ needs: ["kafka", "postgres"] });
});

afterAll(async () => {
  await running.kill("SIGTERM");
  await environment.stop();
});

describe("a recording", () => {
  it("sets the live price of its symbol, and equity follows the price, also after the recording starts again", async () => {
    const { csv, bids } = anyRecording(20);
    const file = path.join(environment.stateDir, "EURUSD-recorded.csv");
    await writeFile(file, csv);
    const topics = await followTopics(environment);
    running = await startTradingServer(environment, { QUOTES_FILE: file, QUOTES_SPEED: "50", TICK_INTERVAL_MS: "20" });
    const serverId = await configuredServer(running);
    await running.client.change(serverId, [creation(ACCOUNT, 1_000_000)]);
    const order = { symbol: "EURUSD", side: "buy", volume: 1 };
    const placed = await running.control("POST", `/servers/${serverId}/accounts/${ACCOUNT}/orders`, order);
    expect(placed.status).toBe(201);
    const { positions } = (await running.control("GET", `/servers/${serverId}/accounts/${ACCOUNT}`)).body as {
      positions: { openPrice: number }[];
    };
    const openPrice = positions[0]?.openPrice ?? 0;
    const possible = new Set(bids.map((bid) => 999_700 + Math.round((bid - openPrice) * 10_000_000)));
    await eventually(() => expect(topics.valuations.length).toBeGreaterThan(3 * bids.length));
    const seen = topics.valuations.filter((valuation) => valuation.openPositionCount === 1);
    expect(new Set(seen.map((valuation) => valuation.equityMinor))).toEqual(possible);
    await topics.stop();
  });
});

describe("quotes at a time", () => {
  it("are the prices from which the trading server calculated the equity at that time", async () => {
    const topics = await followTopics(environment);
    const { serverId, account, openPrice, balanceMinor } = await openGbpUsd();
    const ofAccount = () =>
      topics.valuations.filter((it) => it.accountNumber === account && it.openPositionCount === 1);
    await eventually(() => expect(new Set(ofAccount().map((it) => it.equityMinor)).size).toBeGreaterThan(10));
    await topics.stop();
    // Of several valuations in one millisecond, the last one has the quote of that millisecond.
    const measured = new Map(ofAccount().map(({ measuredAt, equityMinor }) => [measuredAt, equityMinor]));
    for (const [at, equityMinor] of measured) {
      const [quote, ...others] = (await running.client.quotes(serverId, ["GBPUSD"], at)) ?? [];
      expect(others).toEqual([]);
      expect(balanceMinor + Math.round(((quote?.bid ?? 0) - openPrice) * 10_000_000)).toBe(equityMinor);
    }
  });

  it("are available only since the start of the process: a restart loses earlier quotes", async () => {
    const serverId = await configuredServer(running);
    const now = (): string => new Date().toISOString();
    const before = now();
    expect(await running.client.quotes(serverId, ["USDNGN"], before)).toHaveLength(1);
    await running.kill("SIGTERM");
    running = await startTradingServer(environment);
    expect(await running.client.quotes(serverId, ["USDNGN"], before)).toEqual([]);
    expect(await running.client.quotes(serverId, ["USDNGN"], now())).toHaveLength(1);
  });

  it("are unavailable while a fault makes them unreachable; other reads still work", async () => {
    const serverId = await configuredServer(running);
    await running.control("POST", `/servers/${serverId}/faults`, { kind: "unreachable", operation: "quotes" });
    const now = new Date().toISOString();
    await expect(running.client.quotes(serverId, ["EURUSD"], now)).rejects.toThrow(TradingServerUnreachable);
    expect(await running.client.eventSequence(serverId, "nobody")).toBeNull();
    expect(await running.client.quotes(serverId, ["EURUSD"], now)).toHaveLength(1);
  });
});

/** An account with a long position of one lot, whose price changes with each tick. */
async function openGbpUsd() {
  const [serverId, account] = [await configuredServer(running), "10000002"];
  await running.client.change(serverId, [creation(account, 1_000_000)]);
  const path = `/servers/${serverId}/accounts/${account}`;
  const placed = await running.control("POST", `${path}/orders`, { symbol: "GBPUSD", side: "buy", volume: 1 });
  expect(placed.status).toBe(201);
  const { positions } = (await running.control("GET", path)).body as { positions: { openPrice: number }[] };
  const { balanceMinor = 0 } = (await running.client.snapshot(serverId, account)) ?? {};
  return { serverId, account, openPrice: positions[0]?.openPrice ?? 0, balanceMinor };
}
