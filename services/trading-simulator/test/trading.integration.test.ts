import { randomUUID } from "node:crypto";

import type { TradingEvent } from "@kapi/contracts";
import { anyAccountNumber, createTestEnvironment, eventually, type TestEnvironment } from "@kapi/testkit";
import * as fc from "fast-check";
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

let environment: TestEnvironment;
let running: Running;
let topics: Topics;
let serverId: string;

beforeAll(async () => {
  environment = await createTestEnvironment({ needs: ["kafka", "postgres"] });
  topics = await followTopics(environment);
  running = await startTradingServer(environment);
  serverId = await configuredServer(running);
});

afterAll(async () => {
  await running.kill("SIGTERM");
  await topics.stop();
  await environment.stop();
});

const control = (method: string, path: string, body?: unknown) =>
  running.control(method, `/servers/${serverId}${path}`, body);

async function account(balanceMinor: number): Promise<string> {
  const accountNumber = anyAccountNumber();
  await running.client.change(serverId, [creation(accountNumber, balanceMinor)]);
  return accountNumber;
}

/** The amount that an event adds to the balance. */
function amountOf(event: TradingEvent): number {
  if (event.type === "account.created") return event.initialBalanceMinor;
  if (event.type === "balance.changed") return event.amountMinor;
  if (event.type !== "deal.executed") return 0;
  return event.deal.realizedPnlMinor + event.deal.commissionMinor + event.deal.swapMinor;
}

const Step = fc.oneof(
  fc.record({
    do: fc.constant("order"),
    symbol: fc.constantFrom("EURUSD", "USDJPY", "XAUUSD"),
    side: fc.constantFrom("buy", "sell"),
    volume: fc.integer({ min: 1, max: 200 }),
  }),
  fc.record({
    do: fc.constant("limit"),
    symbol: fc.constantFrom("EURUSD", "XAUUSD"),
    percent: fc.integer({ min: 1, max: 3 }),
  }),
  fc.record({ do: fc.constant("close"), part: fc.integer({ min: 1, max: 100 }) }),
  fc.record({
    do: fc.constant("move"),
    symbol: fc.constantFrom("EURUSD", "USDJPY", "XAUUSD"),
    percent: fc.integer({ min: -4, max: 4 }),
  }),
  fc.record({ do: fc.constant("ticks"), count: fc.integer({ min: 1, max: 20 }) }),
  fc.record({ do: fc.constant("rollover") }),
  fc.record({ do: fc.constant("deposit"), amount: fc.integer({ min: 1, max: 100_000 }) }),
  fc.record({ do: fc.constant("withdrawal"), amount: fc.integer({ min: 1, max: 300_000 }) }),
);
type Step = typeof Step extends fc.Arbitrary<infer T> ? T : never;

async function carryOut(accountNumber: string, step: Step): Promise<void> {
  const at = `/accounts/${accountNumber}`;
  if ("side" in step) {
    await control("POST", `${at}/orders`, { symbol: step.symbol, side: step.side, volume: step.volume / 100 });
  } else if ("part" in step) {
    const { positions } = (await control("GET", at)).body as { positions: { id: string; volume: number }[] };
    const [position] = positions;
    if (position === undefined) return;
    const volume = Math.max(1, Math.round((position.volume * 100 * step.part) / 100)) / 100;
    await control("POST", `${at}/positions/${position.id}/close`, { volume });
  } else if (step.do === "limit" && "symbol" in step) {
    const { prices } = (await control("GET", "/prices")).body as { prices: { symbol: string; ask: number }[] };
    const ask = prices.find((price) => price.symbol === step.symbol)?.ask ?? 1;
    const price = ask * (1 - step.percent / 100);
    await control("POST", `${at}/orders`, { symbol: step.symbol, side: "buy", orderType: "limit", volume: 0.1, price });
  } else if ("percent" in step) {
    await control("POST", `/prices/${step.symbol}/move`, { percent: step.percent });
  } else if ("count" in step) {
    await control("POST", "/market/ticks", { count: step.count });
  } else if ("amount" in step) {
    const kind = step.do === "deposit" ? ("deposit" as const) : ("withdrawal" as const);
    await running.client.change(serverId, [
      { ...deposit(accountNumber, step.amount), type: "balance", kind, amountMinor: step.amount, description: null },
    ]);
  } else {
    await control("POST", "/rollover");
  }
}

describe("any trading", () => {
  it("leaves a gapless history whose amounts add up to each balance; the topic has the same events", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(Step, { minLength: 5, maxLength: 40 }), async (steps) => {
        const accountNumber = await account(500_000);
        for (const step of steps) await carryOut(accountNumber, step);
        const { events, lastSequence } = await running.client.history(serverId, accountNumber, 0, 1_000);
        expect(events.map((event) => event.sequence)).toEqual(Array.from(events, (_, index) => index + 1));
        expect(lastSequence).toBe(events.length);
        let balanceMinor = 0;
        let open = 0;
        for (const event of events) {
          balanceMinor += amountOf(event);
          if (event.type === "position.opened") open += 1;
          if (event.type === "position.closed") open -= 1;
          expect(event).toMatchObject({ balanceMinor, openPositionCount: open });
        }
        const snapshot = await running.client.snapshot(serverId, accountNumber);
        expect(snapshot).toMatchObject({ balanceMinor, openPositionCount: open, sequence: events.length });
        await eventually(() => {
          expect(topics.events.filter((event) => event.accountNumber === accountNumber)).toEqual(events);
        });
        for (const event of events) {
          if (event.type !== "order.placed") continue;
          await control("DELETE", `/accounts/${accountNumber}/orders/${event.order.id}`);
        }
      }),
      { numRuns: 12 },
    );
  });
});

it("changed prices of orders and positions are rounded to the symbol's decimals", async () => {
  const at = `/accounts/${await account(1_000_000)}`;
  await control("PUT", "/prices/EURUSD", { bid: 1.1, ask: 1.1, hold: true });
  const limit = { symbol: "EURUSD", side: "buy", orderType: "limit", volume: 0.1, price: 1 };
  const placed = (await control("POST", `${at}/orders`, limit)).body as { order: { id: string } };
  const prices = { price: 1.000004, stopLoss: 0.900004, takeProfit: 1.200004 };
  const { order } = (await control("PATCH", `${at}/orders/${placed.order.id}`, prices)).body;
  expect(order).toMatchObject({ price: 1, stopLoss: 0.9, takeProfit: 1.2 });
  const market = { symbol: "EURUSD", side: "buy", volume: 0.1 };
  const { positionId } = (await control("POST", `${at}/orders`, market)).body as { positionId: string };
  const stops = { stopLoss: 0.900004, takeProfit: 1.200004 };
  const { position } = (await control("PATCH", `${at}/positions/${positionId}`, stops)).body;
  expect(position).toMatchObject({ stopLoss: 0.9, takeProfit: 1.2 });
  await control("POST", "/prices/EURUSD/release");
});

describe("valuations", () => {
  const of = (accountNumber: string) =>
    topics.valuations.filter((valuation) => valuation.accountNumber === accountNumber);

  it("come for a creation, a deposit, an opened position and prices that change equity, not for other prices", async () => {
    const accountNumber = await account(1_000_000);
    await eventually(() =>
      expect(of(accountNumber)).toMatchObject([{ balanceMinor: 1_000_000, openPositionCount: 0 }]),
    );
    await running.client.change(serverId, [deposit(accountNumber, 500)]);
    await control("PUT", "/prices/EURUSD", { bid: 1.1, ask: 1.1, hold: true });
    await control("POST", `/accounts/${accountNumber}/orders`, { symbol: "EURUSD", side: "buy", volume: 1 });
    await control("PUT", "/prices/EURUSD", { bid: 1.105, ask: 1.105, hold: true });
    await control("PUT", "/prices/GBPUSD", { bid: 1.3, ask: 1.3 });
    await control("PUT", "/prices/EURUSD", { bid: 1.095, ask: 1.095, hold: true });
    await eventually(() =>
      expect(of(accountNumber).map((valuation) => [valuation.balanceMinor, valuation.equityMinor])).toEqual([
        [1_000_000, 1_000_000],
        [1_000_500, 1_000_500],
        [1_000_200, 1_000_200],
        [1_000_200, 1_050_200],
        [1_000_200, 950_200],
      ]),
    );
    expect(of(accountNumber).at(-1)).toMatchObject({
      marginMinor: 110_000,
      freeMarginMinor: 840_200,
      marginLevel: 863.82,
    });
    await control("POST", "/prices/EURUSD/release");
  });

  it("come for an account with automatic trading", async () => {
    const accountNumber = await account(1_000_000);
    const settings = { enabled: true, symbols: ["EURUSD"], volume: 0.1, everyTicks: 2 };
    expect((await control("PUT", `/accounts/${accountNumber}/auto-trader`, settings)).body).toEqual({ enabled: true });
    await control("POST", "/market/ticks", { count: 60 });
    await eventually(() => expect(of(accountNumber).length).toBeGreaterThan(20));
    const { events } = await running.client.history(serverId, accountNumber, 0, 1_000);
    expect(events.filter((event) => event.type === "deal.executed").length).toBeGreaterThan(3);
    await control("PUT", `/accounts/${accountNumber}/auto-trader`, { enabled: false });
  });
});

it("a held price stays where a move put it; a move with `hold: false` releases it", async () => {
  await control("PUT", "/prices/EURUSD", { bid: 1.1, ask: 1.1, hold: true });
  expect((await control("POST", "/prices/EURUSD/move", { points: 150 })).body).toMatchObject({ held: true });
  await control("POST", "/market/ticks", { count: 20 });
  const { prices } = (await control("GET", "/prices")).body as { prices: { symbol: string; bid: number }[] };
  expect(prices.find(({ symbol }) => symbol === "EURUSD")?.bid).toBe(1.1015);
  expect((await control("POST", "/prices/EURUSD/move", { points: 1, hold: false })).body).toMatchObject({
    held: false,
  });
});

describe("passwords", () => {
  it("give trading or investor access, until the account is archived", async () => {
    const accountNumber = await account(0);
    const login = (password: string) => control("POST", `/accounts/${accountNumber}/login`, { password });
    expect((await login("trading password")).body).toEqual({ access: "trading" });
    expect((await login("investor password")).body).toEqual({ access: "investor" });
    expect((await login("wrong password")).status).toBe(401);
    const reference = anyAccountNumber();
    await running.client.change(serverId, [{ reference, accountNumber, type: "set_status", status: "archived" }]);
    expect((await login("trading password")).status).toBe(401);
  });
});

it("only events that a change causes name the actor that requested the change", async () => {
  const createdBy = { type: "key", id: "mfrggzdfmztwq2lk" } as const;
  const accountNumber = anyAccountNumber();
  await running.client.change(serverId, [{ ...creation(accountNumber, 1_000_000), createdBy }]);
  await control("POST", `/accounts/${accountNumber}/orders`, { symbol: "EURUSD", side: "buy", volume: 0.1 });
  const reference = randomUUID();
  await running.client.change(serverId, [
    { reference, accountNumber, type: "delete", closePositions: true, createdBy },
    deposit(await account(0), 1),
  ]);
  const { events } = await running.client.history(serverId, accountNumber, 0, 100);
  const opened = events.findIndex(({ type }) => type === "position.opened");
  const closed = events.findIndex(({ type }, index) => index > opened && type === "deal.executed");
  expect(events[0]).toMatchObject({ type: "account.created", createdBy });
  expect(events[opened]).not.toHaveProperty("createdBy");
  expect(events[closed]).toMatchObject({ reference: null, createdBy });
  expect(events.at(-1)).toMatchObject({ type: "account.deleted", reference, createdBy });
});
