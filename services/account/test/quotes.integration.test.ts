import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

import { BREAKER_FAILURES } from "@kapi/kernel";
import { eventually } from "@kapi/testkit";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { type Answer, Harness } from "./harness.ts";

let harness: Harness;
beforeAll(async () => {
  harness = await Harness.create();
  // The trading simulator knows the server once the account service has sent the configuration.
  await eventually(async () => (await harness.control("GET", "/prices")).status === 200);
});
afterAll(async () => {
  await harness.stop();
});

function read(query: Record<string, string>, serverId = harness.server.serverId): Promise<Answer> {
  return harness.call("GET", `/internal/servers/${serverId}/quotes?${new URLSearchParams(query).toString()}`);
}

const now = (): string => new Date().toISOString();

/** Sets the price of a symbol on the trading server. */
async function setPrice(symbol: string, bid: number, ask: number): Promise<void> {
  const { status } = await harness.control("PUT", `/prices/${symbol}`, { bid, ask, hold: true });
  if (status !== 200) throw new Error(`the price was not set: ${status}`);
}

describe("quotes of a trading server", () => {
  it("are the last quotes at or before a time, for each symbol that has a quote", async () => {
    await setPrice("EURUSD", 1.2, 1.2001);
    await setPrice("XAUUSD", 2_000, 2_000.5);
    const before = now();
    // The next quote is of a later millisecond.
    await expect.poll(now).not.toBe(before);
    await setPrice("EURUSD", 1.3, 1.3001);
    const measuredAt = expect.stringMatching(/^\d{4}-.*Z$/) as string;
    const gold = { symbol: "XAUUSD", bid: 2_000, ask: 2_000.5, measuredAt };
    expect(await read({ symbols: "EURUSD,XAUUSD,NOSUCH", at: before })).toMatchObject({
      status: 200,
      body: { quotes: [{ symbol: "EURUSD", bid: 1.2, ask: 1.2001, measuredAt }, gold] },
    });
    expect((await read({ symbols: "XAUUSD,EURUSD", at: now() })).body).toEqual({
      quotes: [gold, { symbol: "EURUSD", bid: 1.3, ask: 1.3001, measuredAt }],
    });
    expect((await read({ symbols: "EURUSD", at: "2026-01-01T00:00:00Z" })).body).toEqual({ quotes: [] });
  });

  it("are null if the trading server does not have the route for quotes; the server's breaker stays closed", async () => {
    // As a bridge of release 0.1.0: it does not know the route.
    const bridge = createServer((request, response) => {
      response.writeHead(request.method === "GET" ? 404 : 200).end("{}");
    });
    await once(bridge.listen(0, "127.0.0.1"), "listening");
    const tradingServerUrl = `http://127.0.0.1:${(bridge.address() as AddressInfo).port}`;
    const { serverId } = await harness.publishServer({ tradingServerUrl });
    for (let n = 0; n <= BREAKER_FAILURES; n += 1) {
      expect(await read({ symbols: "EURUSD", at: now() }, serverId)).toMatchObject({
        status: 200,
        body: { quotes: null },
      });
    }
    bridge.closeAllConnections();
    bridge.close();
  });

  it("cannot be read while the trading server does not answer or disconnects: 500", async () => {
    for (const disconnect of [false, true]) {
      await harness.fault({ kind: "unreachable", operation: "quotes", count: null, disconnect });
      const unavailable = { status: 500, code: "DEPENDENCY_UNAVAILABLE" };
      expect(await read({ symbols: "EURUSD", at: now() })).toMatchObject(unavailable);
      await harness.control("DELETE", "/faults");
    }
    expect(await read({ symbols: "EURUSD", at: now() })).toMatchObject({ status: 200 });
  });

  it("cannot be read for an unknown server (404), without symbols, with too many symbols, or without a time (400)", async () => {
    const unknown = "5a1c3f7e-0a52-4a0e-9f0a-00000000dead";
    expect(await read({ symbols: "EURUSD", at: now() }, unknown)).toMatchObject({
      status: 404,
      code: "SERVER_NOT_FOUND",
    });
    const tooMany = Array.from({ length: 51 }, (_, n) => `S${n}`).join(",");
    for (const query of [{ at: now() }, { symbols: "EURUSD" }, { symbols: tooMany, at: now() }]) {
      expect(await read(query as Record<string, string>)).toMatchObject({ status: 400, code: "VALIDATION_FAILED" });
    }
  });
});
