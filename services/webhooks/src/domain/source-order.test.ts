import fc from "fast-check";
import { describe, expect, it } from "vitest";

import type { IncomingEvent, Source, SourcePlace } from "./facts.ts";
import { inSourceOrder, type RecordedSequences, type WaitingEvent } from "./source-order.ts";

const SERVER = "0190f6d2-0000-4000-8000-000000000001";
const ACCOUNT = `${SERVER}/1001`;

type Between = Pick<SourcePlace, "through" | "after">;

function event(
  eventId: string,
  source: Source | null,
  sequence = 0,
  between: Between = { through: null, after: null },
): IncomingEvent {
  const common = {
    eventId,
    organizationId: SERVER,
    serverId: SERVER,
    accountNumber: "1001",
    record: {},
    onlyFor: null,
  };
  const place = source === null ? null : { source, sequence, ...between };
  return { ...common, type: "margin.call", timestamp: "2026-03-02T10:04:00.000Z", place };
}

/** Newest sequences; with the second pair also how far the sources have announced. */
function recordedUpTo(
  [account, finance]: readonly [number | null, number | null],
  [accountThrough, financeThrough]: readonly [number | null, number | null] = [null, null],
): RecordedSequences {
  return {
    account: { sequence: account, through: accountThrough },
    finance: { sequence: finance, through: financeThrough },
  };
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
    const recorded = recordedUpTo([1, 0]);
    expect(order(events, recorded)).toEqual({ ready: ["f1", "a2", "command"], early: ["f3"] });
    expect(recorded).toEqual(recordedUpTo([2, 1]));
  });

  it("begins with the first to come where nothing is known of the source", () => {
    const events = [event("f9", "finance", 9), event("f7", "finance", 7)];
    expect(order(events, recordedUpTo([0, null]))).toEqual({ ready: ["f7"], early: ["f9"] });
  });

  it("takes what waited, once, when the missing one is there", () => {
    const waiting = [{ event: event("f2", "finance", 2), overdue: false }];
    const events = [event("f2", "finance", 2), event("f1", "finance", 1)];
    expect(order(events, recordedUpTo([0, 0]), waiting)).toEqual({ ready: ["f1", "f2"], early: [] });
  });

  it("goes on behind what waited too long, with everything older that is there", () => {
    const waiting = [
      { event: event("f5", "finance", 5), overdue: false },
      { event: event("f4", "finance", 4), overdue: true },
      { event: event("f2", "finance", 2), overdue: false },
      { event: event("f8", "finance", 8), overdue: false },
    ];
    expect(order([], recordedUpTo([0, 0]), waiting)).toEqual({
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
    expect(order([], recordedUpTo([0, 0]), waiting).early).toHaveLength(500);
    const one = [event("f502", "finance", 502)];
    expect(order(one, recordedUpTo([0, 0]), waiting)).toMatchObject({
      ready: { length: 501 },
      early: [],
      missing: ["finance 1-1 too_many"],
    });
  });

  it("takes the numbers of a restored source as they come", () => {
    const events = [event("again", "finance", 3), event("f11", "finance", 11)];
    expect(order(events, recordedUpTo([0, 10]))).toEqual({ ready: ["again", "f11"], early: [] });
  });

  it("is that of the trading server between the sources, however they arrive", () => {
    const created = event("created", "account", 1, { through: 1, after: 0 });
    const initial = event("initial", "finance", 1, { through: 1, after: 1 });
    const deposit = event("deposit", "finance", 2, { through: 2, after: 1 });
    const deal = event("deal", "account", 2, { through: 4, after: 2 });
    const profit = event("profit", "finance", 3, { through: 3, after: 4 });
    const commission = event("commission", "finance", 4, { through: 4, after: 4 });
    const closed = event("closed", "account", 3, { through: 5, after: 4 });
    const told = ["created", "initial", "deposit", "deal", "profit", "commission", "closed"];
    const recorded = recordedUpTo([0, 0], [0, 0]);
    expect(order([closed, commission, deal, initial, profit, created, deposit], recorded).ready).toEqual(told);
    expect(recorded).toEqual(recordedUpTo([3, 4], [5, 4]));
    expect(order([closed, deal, profit], recordedUpTo([1, 2], [1, 2]))).toEqual({
      ready: ["deal", "profit"],
      early: ["closed"],
    });
  });

  it("waits for no other source of which nothing is known, and for none that tells no places", () => {
    const deal = event("deal", "account", 8, { through: 40, after: 39 });
    expect(order([deal], recordedUpTo([7, 3])).ready).toEqual(["deal"]);
    const recorded = recordedUpTo([7, 3], [38, 20]);
    expect(order([deal], recorded).early).toEqual(["deal"]);
    expect(order([event("older release", "finance", 4), deal], recorded).ready).toEqual(["older release", "deal"]);
  });

  it("gives the other source up as it does a missing one, without counting anything as missing", () => {
    const late = { event: event("f5", "finance", 5, { through: 40, after: 39 }), overdue: true };
    const next = event("f6", "finance", 6, { through: 42, after: 41 });
    expect(order([next], recordedUpTo([7, 4], [38, 20]), [late])).toEqual({ ready: ["f5"], early: ["f6"] });
    const waiting = Array.from({ length: 500 }, (_, index) => ({
      event: event(`f${index + 5}`, "finance", index + 5, { through: index + 40, after: 39 }),
      overdue: false,
    }));
    expect(order([], recordedUpTo([7, 4], [38, 20]), waiting).early).toHaveLength(500);
    const one = [event("f505", "finance", 505, { through: 540, after: 39 })];
    expect(order(one, recordedUpTo([7, 4], [38, 20]), waiting)).toMatchObject({
      ready: ["f5"],
      early: { length: 500 },
    });
  });

  it("takes the event that a given-up source waits for first, where that one is there", () => {
    const late = { event: event("f5", "finance", 5, { through: 40, after: 39 }), overdue: true };
    const deal = event("a8", "account", 8, { through: 39, after: 20 });
    expect(order([deal], recordedUpTo([7, 4], [38, 20]), [late]).ready).toEqual(["a8", "f5"]);
  });
});

/** What an event of the trading server becomes: facts of the account service (0 or 1) and of finance. */
const traded = fc.record({ account: fc.integer({ min: 0, max: 1 }), finance: fc.integer({ min: 0, max: 3 }) });

it("any history in any batches comes out in the order of the trading server, each fact once", () => {
  const histories = fc.array(traded, { minLength: 1, maxLength: 30 });
  fc.assert(
    fc.property(histories, fc.infiniteStream(fc.nat()), (history, dice) => {
      const roll = (sides: number): number => (dice.next().value as number) % sides;
      const expected = factsOf(history);
      const left = expected.toSorted(() => roll(3) - 1);
      const recorded = recordedUpTo([0, 0], [0, 0]);
      let waiting: WaitingEvent[] = [];
      const told: string[] = [];
      while (left.length > 0) {
        const batch = left.splice(0, 1 + roll(5));
        const { ready, early, missing } = inSourceOrder(batch, waiting, new Map([[ACCOUNT, recorded]]));
        expect(missing).toEqual([]);
        told.push(...ready.map(({ eventId }) => eventId));
        waiting = early.map((one) => ({ event: one, overdue: false }));
      }
      expect(told).toEqual(expected.map(({ eventId }) => eventId));
    }),
  );
});

/** The facts of a history in its order, with the places that the services give them. */
function factsOf(history: readonly { readonly account: number; readonly finance: number }[]): IncomingEvent[] {
  const facts: IncomingEvent[] = [];
  const last = { account: 0, finance: 0, accountThrough: 0, financeThrough: 0 };
  for (const [index, { account, finance }] of history.entries()) {
    const at = index + 1;
    if (account > 0) {
      last.account += 1;
      last.accountThrough = at;
      facts.push(event(`a${last.account}`, "account", last.account, { through: at, after: last.financeThrough }));
    }
    for (let row = 1; row <= finance; row += 1) {
      last.finance += 1;
      const through = row === finance ? at : at - 1;
      facts.push(event(`f${last.finance}`, "finance", last.finance, { through, after: last.accountThrough }));
    }
    if (finance > 0) last.financeThrough = at;
  }
  return facts;
}
