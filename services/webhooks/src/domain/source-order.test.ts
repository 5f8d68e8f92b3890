import { describe, expect, it } from "vitest";

import type { IncomingEvent, Source } from "./facts.ts";
import { inSourceOrder, type RecordedSequences, type WaitingEvent } from "./source-order.ts";

const SERVER = "0190f6d2-0000-4000-8000-000000000001";
const ACCOUNT = `${SERVER}/1001`;

function event(eventId: string, source: Source | null, sequence = 0): IncomingEvent {
  const common = {
    eventId,
    organizationId: SERVER,
    serverId: SERVER,
    accountNumber: "1001",
    record: {},
    onlyFor: null,
  };
  const place = source === null ? null : { source, sequence };
  return { ...common, type: "margin.call", timestamp: "2026-03-02T10:04:00.000Z", place };
}

function order(
  events: readonly IncomingEvent[],
  recorded: RecordedSequences,
  waiting: readonly WaitingEvent[] = [],
): { ready: string[]; early: string[]; missing?: string[] } {
  const { ready, early, missing } = inSourceOrder(events, waiting, new Map([[ACCOUNT, recorded]]));
  return {
    ready: ready.map(({ eventId }) => eventId),
    early: early.map(({ eventId }) => eventId),
    ...(missing.length > 0 && {
      missing: missing.map(({ source, first, last, reason }) => `${source} ${first}-${last} ${reason}`),
    }),
  };
}

describe("the order of an account's events", () => {
  it("is that of each source; what is newer than a missing one waits, of that source alone", () => {
    const events = [
      event("f3", "finance", 3),
      event("a2", "account", 2),
      event("command", null),
      event("f1", "finance", 1),
    ];
    const recorded = { account: 1, finance: 0 };
    expect(order(events, recorded)).toEqual({ ready: ["f1", "a2", "command"], early: ["f3"] });
    expect(recorded).toEqual({ account: 2, finance: 1 });
  });

  it("begins with the first to come where nothing is known of the source", () => {
    const events = [event("f9", "finance", 9), event("f7", "finance", 7)];
    expect(order(events, { account: 0, finance: null })).toEqual({ ready: ["f7"], early: ["f9"] });
  });

  it("takes what waited, once, when the missing one is there", () => {
    const waiting = [{ event: event("f2", "finance", 2), overdue: false }];
    const events = [event("f2", "finance", 2), event("f1", "finance", 1)];
    expect(order(events, { account: 0, finance: 0 }, waiting)).toEqual({ ready: ["f1", "f2"], early: [] });
  });

  it("goes on behind what waited too long, with everything older that is there", () => {
    const waiting = [
      { event: event("f5", "finance", 5), overdue: false },
      { event: event("f4", "finance", 4), overdue: true },
      { event: event("f2", "finance", 2), overdue: false },
      { event: event("f8", "finance", 8), overdue: false },
    ];
    expect(order([], { account: 0, finance: 0 }, waiting)).toEqual({
      ready: ["f2", "f4", "f5"],
      early: ["f8"],
      missing: ["finance 1-1 overdue", "finance 3-3 overdue"],
    });
  });

  it("goes on without a missing one when more than 500 wait for it", () => {
    const waiting = Array.from({ length: 500 }, (_, index) => ({
      event: event(`f${index + 2}`, "finance", index + 2),
      overdue: false,
    }));
    expect(order([], { account: 0, finance: 0 }, waiting).early).toHaveLength(500);
    const one = [event("f502", "finance", 502)];
    expect(order(one, { account: 0, finance: 0 }, waiting)).toMatchObject({
      ready: { length: 501 },
      early: [],
      missing: ["finance 1-1 too_many"],
    });
  });

  it("takes the numbers of a restored source as they come", () => {
    const events = [event("again", "finance", 3), event("f11", "finance", 11)];
    expect(order(events, { account: 0, finance: 10 })).toEqual({ ready: ["again", "f11"], early: [] });
  });
});
