import { isAnnouncedByAccount, type TradingEvent, type TradingOrder, type TradingPosition } from "@kapi/contracts";
import { accountCreated, balanceChanged, eventEnvelope } from "@kapi/testkit";
import { describe, expect, it } from "vitest";

import { bookHistory, type KnownRecords, NEW_FEED, recordsOf, volumesOf } from "./history.ts";

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

function position(sequence: number, id: string, status: TradingPosition["status"], volume = 0.1): TradingEvent {
  const record: TradingPosition = {
    id,
    orderId: "o",
    symbol: "EURUSD",
    side: "buy",
    volume,
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
  it("numbers each record once, in order of creation, and keeps its last state", () => {
    const run = [order(1, "a", "placed"), order(2, "b", "placed"), order(3, "a", "executed")];
    const { feed, orders } = bookHistory(NEW_FEED, run, NOTHING);
    expect(orders.map(({ n, record }) => [n, record.id, record.status])).toEqual([
      [1, "a", "executed"],
      [2, "b", "placed"],
    ]);
    expect(feed).toMatchObject({ bookedSequence: 3, orderCount: 2 });
  });

  it("keeps the numbers of stored records", () => {
    const feed = { ...NEW_FEED, bookedSequence: 9, orderCount: 4, positionCount: 2, openPositionCount: 1 };
    const known: KnownRecords = {
      orders: new Map([["a", 3]]),
      positions: new Map([["p", { n: 2, isOpen: true, openedVolume: 0.1 }]]),
    };
    const run = [order(10, "a", "executed"), order(11, "c", "executed"), position(12, "p", "closed")];
    const booked = bookHistory(feed, run, known);
    expect(booked.orders.map(({ n }) => n)).toEqual([3, 5]);
    expect(booked.positions.map(({ n }) => n)).toEqual([2]);
    expect(booked.feed).toMatchObject({ bookedSequence: 12, orderCount: 5, positionCount: 2, openPositionCount: 0 });
  });

  it("counts open positions correctly, even if several events of a position are booked together", () => {
    const run = [
      position(1, "p", "open"),
      position(2, "q", "open"),
      position(3, "p", "closed"),
      position(4, "p", "closed"),
    ];
    expect(bookHistory(NEW_FEED, run, NOTHING).feed).toMatchObject({ positionCount: 2, openPositionCount: 1 });
  });

  it("keeps the opened volume of a position through partial closes, whether the events are booked together or one by one", () => {
    const left = [1, 0.7, 0.2, 0.2];
    const events = left.map((volume, at) => position(at + 1, "p", at < 3 ? "open" : "closed", volume));
    const published = [];
    let known = NOTHING;
    for (const event of events) {
      const { positions, accountEvents } = bookHistory(NEW_FEED, [event], known);
      const openedVolume = positions[0]?.openedVolume ?? 0;
      expect(openedVolume).toBe(1);
      known = { ...NOTHING, positions: new Map([["p", { n: 1, isOpen: true, openedVolume }]]) };
      published.push(...accountEvents);
    }
    expect(bookHistory(NEW_FEED, events, NOTHING)).toMatchObject({
      positions: [{ openedVolume: 1 }],
      accountEvents: published,
    });
    const volumes = published.map(
      (event) => "position" in event && [event.position.volume, event.position.closedVolume],
    );
    expect(volumes).toEqual([
      [1, 0],
      [1, 0.3],
      [1, 0.8],
      [1, 1],
    ]);
  });

  it("places each account event by its own sequence and by the sequence of the last finance event before it", () => {
    const run = [
      accountCreated({ sequence: 1, initialBalanceMinor: 500 }),
      order(2, "a", "executed"),
      balanceChanged({ sequence: 3 }),
      order(4, "b", "placed"),
      position(5, "p", "open"),
      position(6, "p", "closed"),
    ];
    const { accountEvents, feed } = bookHistory(NEW_FEED, run, NOTHING);
    expect(accountEvents.map(({ place }) => [place?.through, place?.after])).toEqual([
      [2, 1],
      [5, 3],
      [6, 3],
    ]);
    expect(feed.ledgerSequence).toBe(3);
    const before = bookHistory(NEW_FEED, run.slice(0, 4), NOTHING);
    expect([...before.accountEvents, ...bookHistory(before.feed, run.slice(4), NOTHING).accountEvents]).toEqual(
      accountEvents,
    );
  });

  it("publishes exactly the events that the account service announces, except the creation", () => {
    const margin = { equityMinor: 1, marginMinor: 1, marginLevel: 99 };
    const at = eventEnvelope();
    const events: TradingEvent[] = [
      order(1, "a", "executed"),
      order(1, "a", "placed"),
      position(1, "p", "open"),
      position(1, "p", "closed"),
      { ...at, type: "margin.call", ...margin },
      { ...at, type: "margin.stop_out", ...margin },
      { ...at, type: "account.status_changed", status: "disabled", previousStatus: "active" },
      { ...at, type: "account.deleted" },
      balanceChanged(),
    ];
    for (const event of events) {
      expect(bookHistory(NEW_FEED, [event], NOTHING).accountEvents).toHaveLength(isAnnouncedByAccount(event) ? 1 : 0);
    }
    expect(isAnnouncedByAccount(accountCreated())).toBe(true);
    expect(bookHistory(NEW_FEED, [accountCreated()], NOTHING).accountEvents).toEqual([]);
  });

  it("computes the difference of volumes without floating-point noise", () => {
    expect(volumesOf(0.3, { status: "open", volume: 0.1 })).toEqual({ volume: 0.3, closedVolume: 0.2 });
    expect(volumesOf(0.12345678, { status: "open", volume: 0.12345677 }).closedVolume).toBe(0.00000001);
  });

  it("only advances the sequences for a balance change, and publishes nothing for a placed order", () => {
    const event = balanceChanged({ sequence: 1 });
    expect(bookHistory(NEW_FEED, [event], NOTHING)).toEqual({
      feed: { ...NEW_FEED, bookedSequence: 1, ledgerSequence: 1 },
      orders: [],
      positions: [],
      deals: [],
      accountEvents: [],
    });
    expect(recordsOf([event])).toEqual({ orderIds: [], positionIds: [] });
    expect(bookHistory(NEW_FEED, [order(1, "a", "placed")], NOTHING).accountEvents).toEqual([]);
  });
});
