import type { TradingEvent, TradingOrder, TradingPosition } from "@kapi/contracts";
import { balanceChanged, eventEnvelope } from "@kapi/testkit";
import { describe, expect, it } from "vitest";

import { bookHistory, type KnownRecords, NEW_FEED, recordsOf, toFact } from "./history.ts";

const NOTHING: KnownRecords = { orders: new Map(), positions: new Map() };
const AT = "2026-11-05T10:00:00.000Z";

function order(sequence: number, id: string, status: TradingOrder["status"]): TradingEvent {
  return {
    ...eventEnvelope({ sequence }),
    type: status === "placed" ? "order.placed" : "order.executed",
    order: {
      id,
      symbol: "EURUSD",
      side: "buy",
      orderType: "limit",
      volume: 0.1,
      price: 1.1,
      stopLoss: null,
      takeProfit: null,
      positionId: null,
      status,
      reason: null,
      createdAt: AT,
      executedAt: status === "placed" ? null : AT,
    },
  };
}

function position(sequence: number, id: string, status: TradingPosition["status"]): TradingEvent {
  const record: TradingPosition = {
    id,
    orderId: "o",
    symbol: "EURUSD",
    side: "buy",
    volume: 0.1,
    openPrice: 1.1,
    status,
    openedAt: AT,
    closedAt: status === "open" ? null : AT,
  };
  return status === "open"
    ? { ...eventEnvelope({ sequence }), type: "position.opened", position: record }
    : { ...eventEnvelope({ sequence }), type: "position.closed", position: record, dealIds: ["d"] };
}

describe("booking the history of an account", () => {
  it("numbers each record once, in the order of coming into being, and keeps it as it is last", () => {
    const run = [order(1, "a", "placed"), order(2, "b", "placed"), order(3, "a", "executed")];
    const { feed, orders } = bookHistory(NEW_FEED, run, NOTHING);
    expect(orders.map(({ n, record }) => [n, record.id, record.status])).toEqual([
      [1, "a", "executed"],
      [2, "b", "placed"],
    ]);
    expect(feed).toMatchObject({ bookedSequence: 3, orderCount: 2 });
  });

  it("goes on from what is there: a known record keeps its number", () => {
    const feed = { ...NEW_FEED, bookedSequence: 9, orderCount: 4, positionCount: 2, openPositionCount: 1 };
    const known: KnownRecords = {
      orders: new Map([["a", 3]]),
      positions: new Map([["p", { n: 2, isOpen: true }]]),
    };
    const run = [order(10, "a", "executed"), order(11, "c", "executed"), position(12, "p", "closed")];
    const booked = bookHistory(feed, run, known);
    expect(booked.orders.map(({ n }) => n)).toEqual([3, 5]);
    expect(booked.positions.map(({ n }) => n)).toEqual([2]);
    expect(booked.feed).toMatchObject({ bookedSequence: 12, orderCount: 5, positionCount: 2, openPositionCount: 0 });
  });

  it("counts open positions through any number of moves in one run", () => {
    const run = [
      position(1, "p", "open"),
      position(2, "q", "open"),
      position(3, "p", "closed"),
      position(4, "p", "closed"),
    ];
    expect(bookHistory(NEW_FEED, run, NOTHING).feed).toMatchObject({ positionCount: 2, openPositionCount: 1 });
  });

  it("only moves the sequence on for an event without a record, which is no fact either", () => {
    const event = balanceChanged({ sequence: 1 });
    expect(bookHistory(NEW_FEED, [event], NOTHING)).toEqual({
      feed: { ...NEW_FEED, bookedSequence: 1 },
      orders: [],
      positions: [],
      deals: [],
    });
    expect(recordsOf([event])).toEqual({ orderIds: [], positionIds: [] });
    expect(toFact(event)).toBeNull();
    expect(toFact(order(1, "a", "placed"))).toBeNull();
  });
});
