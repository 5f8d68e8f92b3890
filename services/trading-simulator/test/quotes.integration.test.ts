import { writeFile } from "node:fs/promises";
import path from "node:path";

import { createTestEnvironment, eventually, type TestEnvironment } from "@kapi/testkit";
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
  it("is the live price of its symbol: equity follows it, also after a restart of the recording", async () => {
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
