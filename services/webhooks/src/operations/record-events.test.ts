import { randomUUID } from "node:crypto";

import { createLogger } from "@kapi/runtime";
import { measurements, TestClock } from "@kapi/testkit";
import { expect, it } from "vitest";

import type { IncomingEvent } from "../domain/events.ts";
import type { MissingEvents } from "../domain/source-order.ts";
import { createEventRecorder } from "./record-events.ts";

const measured = measurements();
const METRIC = "webhooks.events.missing";

function marginCall(change: Partial<IncomingEvent>): IncomingEvent {
  return {
    eventId: randomUUID(),
    organizationId: randomUUID(),
    serverId: null,
    accountNumber: "10000001",
    type: "margin.call",
    timestamp: "2026-03-02T10:04:00.000Z",
    record: {},
    place: null,
    onlyFor: null,
    ...change,
  };
}

it("missing events are counted and logged once, and only after the transaction is committed", async () => {
  const lines: string[] = [];
  const logger = createLogger({ service: "test", level: "warn", destination: { write: (line) => lines.push(line) } });
  const serverId = randomUUID();
  const account = { serverId, accountNumber: "10000001" };
  const missing: MissingEvents[] = [
    { ...account, source: "finance", first: 3, last: 5, reason: "overdue" },
    { ...account, source: "account", first: 1, last: 1, reason: "too_many" },
    { ...account, source: "finance", first: 21, last: 39, reason: "other_source" },
  ];
  const results = [
    () => Promise.reject(new Error("the connection was lost")),
    () => Promise.resolve({ recorded: 2, leased: [], more: [], missing }),
    () => Promise.resolve({ recorded: 1, leased: [], more: [], missing: [] }),
  ];
  const recordEvents = createEventRecorder({
    events: { recordEvents: () => results.shift()?.() ?? Promise.reject(new Error("one call too many")) },
    deliverer: { capacity: () => ({ reserve: () => false }), add: () => undefined },
    due: { enqueue: () => undefined },
    leaseMs: 1_000,
    clock: new TestClock(),
    logger,
  });
  const event = marginCall(account);
  await expect(recordEvents([event])).rejects.toThrow("connection");
  expect([measured.total(METRIC, { reason: "overdue" }), lines.length]).toEqual([0, 0]);
  await recordEvents([event]);
  await recordEvents([event]);
  expect(measured.total(METRIC, { reason: "overdue" })).toBe(3);
  expect(measured.total(METRIC, { reason: "too_many" })).toBe(1);
  // For `other_source`, `first` and `last` are sequences of the trading server. The number of
  // missing events is unknown, so the whole range counts as 1.
  expect(measured.total(METRIC, { reason: "other_source" })).toBe(1);
  expect(lines.map((line) => JSON.parse(line) as object)).toEqual([
    expect.objectContaining({ level: expect.anything() as unknown, gaps: 3, missing }),
  ]);
});

it("batches are recorded one by one if their common transaction fails, for example because a statement timed out", async () => {
  const serverId = randomUUID();
  const recorded: number[] = [];
  const recordEvents = createEventRecorder({
    events: {
      recordEvents: async (events) => {
        if (events.length > 2) throw new Error("canceling statement due to statement timeout");
        recorded.push(events.length);
        return { recorded: events.length, leased: [], more: [], missing: [] };
      },
    },
    deliverer: { capacity: () => ({ reserve: () => false }), add: () => undefined },
    due: { enqueue: () => undefined },
    leaseMs: 1_000,
    clock: new TestClock(),
    logger: createLogger({ service: "test", level: "silent" }),
  });
  const events = (count: number) => Array.from({ length: count }, () => marginCall({ serverId }));
  await Promise.all([recordEvents(events(2)), recordEvents(events(1))]);
  expect(recorded).toEqual([2, 1]);
  const [known, tooLarge] = await Promise.allSettled([recordEvents(events(1)), recordEvents(events(3))]);
  expect([known.status, tooLarge.status]).toEqual(["rejected", "rejected"]);
  // The first batch is recorded, although its call is rejected too. When the caller repeats the
  // batch, the store recognizes its events.
  expect(recorded).toEqual([2, 1, 1]);
});
