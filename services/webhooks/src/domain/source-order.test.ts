import fc from "fast-check";
import { describe, expect, it } from "vitest";

import type { IncomingEvent, Source, SourcePlace } from "./events.ts";
import {
  orderBySource,
  MAX_OTHER_SOURCE_WAIT_MS,
  MAX_WAIT_MS,
  type RecordedSequences,
  type WaitingEvent,
} from "./source-order.ts";

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

/** The event as a waiting event. */
function waited(
  { organizationId, eventId, place }: IncomingEvent,
  waitedMs = 0,
  isForOtherSource = false,
): WaitingEvent {
  if (place === null) throw new Error(`${eventId} has no place, so it never waits`);
  return { organizationId, eventId, serverId: SERVER, accountNumber: "1001", place, waitedMs, isForOtherSource };
}

const overdue = (one: IncomingEvent): WaitingEvent => waited(one, MAX_WAIT_MS + 1);
const overdueForOther = (one: IncomingEvent): WaitingEvent => waited(one, MAX_OTHER_SOURCE_WAIT_MS + 1, true);

/** Newest recorded sequences; the second pair has `through` of both sources. */
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
  const { ready, early, missing } = orderBySource(events, waiting, new Map([[ACCOUNT, recorded]]));
  return {
    ready: ready.map(({ eventId }) => eventId),
    early: early.map(({ event: { eventId } }) => eventId),
    ...(missing.length > 0 && {
      missing: missing.map(({ source, first, last, reason }) => `${source} ${first}-${last} ${reason}`),
    }),
  };
}

describe("the order of an account's events", () => {
  it("follows the sequences of each source; if an event is missing, only later events of the same source wait", () => {
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

  it("starts with the oldest event of the first call, if the recorded sequence of its source is unknown", () => {
    const events = [event("f9", "finance", 9), event("f7", "finance", 7)];
    expect(order(events, recordedUpTo([0, null]))).toEqual({ ready: ["f7"], early: ["f9"] });
  });

  it("has each waiting event once when the missing event arrives", () => {
    const waiting = [waited(event("f2", "finance", 2))];
    const events = [event("f2", "finance", 2), event("f1", "finance", 1)];
    expect(order(events, recordedUpTo([0, 0]), waiting)).toEqual({ ready: ["f1", "f2"], early: [] });
  });

  it("has an overdue event after the older events that wait, and then continues with the next sequences", () => {
    const waiting = [
      waited(event("f5", "finance", 5)),
      overdue(event("f4", "finance", 4)),
      waited(event("f2", "finance", 2), MAX_WAIT_MS),
      waited(event("f8", "finance", 8)),
    ];
    expect(order([], recordedUpTo([0, 0]), waiting)).toEqual({
      ready: ["f2", "f4", "f5"],
      early: ["f8"],
      missing: ["finance 1-1 overdue", "finance 3-3 overdue"],
    });
  });

  it("no longer waits for a missing event when more than 500 events wait for it", () => {
    const waiting = Array.from({ length: 501 }, (_, index) => waited(event(`f${index + 2}`, "finance", index + 2)));
    const one = [event("f503", "finance", 503)];
    expect(order(one, recordedUpTo([0, 0]), waiting.slice(0, 500)).ready).toEqual([]);
    expect(order(one, recordedUpTo([0, 0]), waiting)).toMatchObject({
      ready: { length: 502 },
      early: [],
      missing: ["finance 1-1 too_many"],
    });
  });

  it("accepts sequences that a source repeats after its database was restored", () => {
    const events = [event("again", "finance", 3), event("f11", "finance", 11)];
    expect(order(events, recordedUpTo([0, 10]))).toEqual({ ready: ["again", "f11"], early: [] });
  });

  it("merges both sources in the order of the trading server, whatever the order of arrival", () => {
    const created = event("created", "account", 1, { through: 1, after: 0 });
    const initial = event("initial", "finance", 1, { through: 1, after: 1 });
    const deposit = event("deposit", "finance", 2, { through: 2, after: 1 });
    const deal = event("deal", "account", 2, { through: 4, after: 2 });
    const profit = event("profit", "finance", 3, { through: 3, after: 4 });
    const commission = event("commission", "finance", 4, { through: 4, after: 4 });
    const closed = event("closed", "account", 3, { through: 5, after: 4 });
    const ordered = ["created", "initial", "deposit", "deal", "profit", "commission", "closed"];
    const recorded = recordedUpTo([0, 0], [0, 0]);
    expect(order([closed, commission, deal, initial, profit, created, deposit], recorded).ready).toEqual(ordered);
    expect(recorded).toEqual(recordedUpTo([3, 4], [5, 4]));
    expect(order([closed, deal, profit], recordedUpTo([1, 2], [1, 2]))).toEqual({
      ready: ["deal", "profit"],
      early: ["closed"],
    });
  });

  it("does not wait for the other source while its `through` is unknown, as after an event of release 0.1.0", () => {
    const deal = event("deal", "account", 8, { through: 40, after: 39 });
    expect(order([deal], recordedUpTo([7, 3])).ready).toEqual(["deal"]);
    const recorded = recordedUpTo([7, 3], [38, 20]);
    expect(order([deal], recorded).early).toEqual(["deal"]);
    expect(order([event("older release", "finance", 4), deal], recorded).ready).toEqual(["older release", "deal"]);
  });

  it("no longer waits for the other source after 20 s, and lets all waiting events continue", () => {
    const events = [8, 9, 10].map((sequence) =>
      event(`a${sequence}`, "account", sequence, { through: 10 * sequence, after: 10 * sequence - 1 }),
    );
    const [first = event("none", null), ...others] = events;
    const recorded = recordedUpTo([7, 4], [38, 20]);
    const waiting = [waited(first, MAX_OTHER_SOURCE_WAIT_MS), ...others.map((one) => waited(one))];
    expect(order([], recorded, waiting).ready).toEqual([]);
    expect(order(others, recorded, [overdueForOther(first)])).toEqual({
      ready: ["a8", "a9", "a10"],
      early: [],
      missing: ["finance 21-79 other_source"],
    });
    expect(recorded).toEqual(recordedUpTo([10, 4], [100, null]));
    expect(order([event("a11", "account", 11, { through: 110, after: 109 })], recorded).ready).toEqual(["a11"]);
  });

  it("waits for the other source again after the next event of that source, and no event is lost or repeated", () => {
    const recorded = recordedUpTo([10, 4], [100, null]);
    const old = [5, 6].map((sequence) =>
      event(`f${sequence}`, "finance", sequence, { through: 10 * sequence, after: 10 * sequence - 1 }),
    );
    const next = event("a11", "account", 11, { through: 110, after: 109 });
    expect(order([...old, next], recorded)).toEqual({ ready: ["f5", "f6"], early: ["a11"] });
    const newest = event("f7", "finance", 7, { through: 109, after: 100 });
    expect(order([newest], recorded, [waited(next)]).ready).toEqual(["f7", "a11"]);
    expect(recorded).toEqual(recordedUpTo([11, 7], [110, 109]));
  });

  it("no longer waits for the other source if more than 500 events waited, but still waits if more than 500 arrive at once", () => {
    const events = Array.from({ length: 600 }, (_, index) =>
      event(`a${index + 8}`, "account", index + 8, { through: index + 40, after: 39 }),
    );
    expect(order(events, recordedUpTo([7, 4], [38, 20])).early).toHaveLength(600);
    const waiting = events.slice(0, 501).map((one) => waited(one));
    expect(order(events, recordedUpTo([7, 4], [38, 20]), waiting.slice(1)).early).toHaveLength(600);
    expect(order(events, recordedUpTo([7, 4], [38, 20]), waiting)).toMatchObject({
      ready: { length: 600 },
      early: [],
      missing: ["finance 21-39 other_source"],
    });
  });

  it("waits five minutes for a missing event of the same source and for account.created, but only 20 s for other events of the other source", () => {
    const initial = event("f1", "finance", 1, { through: 1, after: 1 });
    const isShort = (one: IncomingEvent, recorded: RecordedSequences): boolean[] =>
      orderBySource([one], [], new Map([[ACCOUNT, recorded]])).early.map(({ isForOtherSource }) => isForOtherSource);
    expect(order([], recordedUpTo([0, 0], [0, 0]), [overdueForOther(initial)]).early).toEqual(["f1"]);
    expect(isShort(initial, recordedUpTo([0, 0], [0, 0]))).toEqual([false]);
    const missing = ["account 1-1 other_source"];
    expect(order([], recordedUpTo([0, 0], [0, 0]), [overdue(initial)])).toEqual({ ready: ["f1"], early: [], missing });
    const deal = event("a9", "account", 9, { through: 40, after: 39 });
    expect(order([], recordedUpTo([7, 4], [38, 20]), [overdueForOther(deal)]).early).toEqual(["a9"]);
    expect(isShort(deal, recordedUpTo([7, 4], [38, 20]))).toEqual([false]);
    expect(isShort(deal, recordedUpTo([8, 4], [38, 20]))).toEqual([true]);
    expect(order([], recordedUpTo([7, 4], [38, 20]), [overdue(deal)]).missing).toEqual([
      "account 8-8 overdue",
      "finance 21-39 other_source",
    ]);
  });

  it("puts an overdue event after an older event of the other source that has just arrived", () => {
    const late = overdueForOther(event("f5", "finance", 5, { through: 40, after: 39 }));
    const deal = event("a8", "account", 8, { through: 39, after: 20 });
    expect(order([deal], recordedUpTo([7, 4], [38, 20]), [late])).toEqual({ ready: ["a8", "f5"], early: [] });
  });
});

/** Numbers of events that one trading event causes: 0 or 1 of account, 0 to 3 of finance. */
const traded = fc.record({ account: fc.integer({ min: 0, max: 1 }), finance: fc.integer({ min: 0, max: 3 }) });

it("however the events of a history are batched and mixed, each event comes once, in the order of the trading server", () => {
  const histories = fc.array(traded, { minLength: 1, maxLength: 30 });
  fc.assert(
    fc.property(histories, fc.infiniteStream(fc.nat()), (history, randomness) => {
      const random = (bound: number): number => (randomness.next().value as number) % bound;
      const expected = eventsOf(history);
      const left = expected.toSorted(() => random(3) - 1);
      const recorded = recordedUpTo([0, 0], [0, 0]);
      let waiting: WaitingEvent[] = [];
      const ordered: string[] = [];
      while (left.length > 0) {
        const batch = left.splice(0, 1 + random(5));
        const { ready, early, missing } = orderBySource(batch, waiting, new Map([[ACCOUNT, recorded]]));
        expect(missing).toEqual([]);
        ordered.push(...ready.map(({ eventId }) => eventId));
        const earlyIds = new Set(early.map(({ event: { eventId } }) => eventId));
        waiting = expected.filter(({ eventId }) => earlyIds.has(eventId)).map((one) => waited(one));
      }
      expect(ordered).toEqual(expected.map(({ eventId }) => eventId));
    }),
  );
});

it("even if events are missing, late or given up, each event that arrives is recorded once, and no event waits forever", () => {
  const histories = fc.array(traded, { minLength: 1, maxLength: 30 });
  fc.assert(
    fc.property(histories, fc.infiniteStream(fc.nat()), (history, randomness) => {
      const random = (bound: number): number => (randomness.next().value as number) % bound;
      const events = eventsOf(history).filter(() => random(5) > 0);
      const left = events.toSorted(() => random(3) - 1);
      const recorded = recordedUpTo([0, 0], [0, 0]);
      let waiting: WaitingEvent[] = [];
      const ordered: string[] = [];
      const record = (batch: readonly IncomingEvent[]): void => {
        const { ready, early } = orderBySource(batch, waiting, new Map([[ACCOUNT, recorded]]));
        ordered.push(...ready.map(({ eventId }) => eventId));
        const earlyIds = new Set(early.map(({ event: { eventId } }) => eventId));
        const waits = [0, MAX_OTHER_SOURCE_WAIT_MS + 1, MAX_WAIT_MS + 1];
        waiting = events.filter(({ eventId }) => earlyIds.has(eventId)).map((one) => waited(one, waits[random(3)]));
      };
      while (left.length > 0) record(left.splice(0, 1 + random(5)));
      waiting = waiting.map((one) => Object.assign({}, one, { waitedMs: MAX_WAIT_MS + 1 }));
      record([]);
      expect(waiting).toEqual([]);
      expect(ordered.toSorted()).toEqual(events.map(({ eventId }) => eventId).toSorted());
    }),
  );
});

/** The events of a history in its order, with their places. */
function eventsOf(history: readonly { readonly account: number; readonly finance: number }[]): IncomingEvent[] {
  const events: IncomingEvent[] = [];
  const last = { account: 0, finance: 0, accountThrough: 0, financeThrough: 0 };
  for (const [index, { account, finance }] of history.entries()) {
    const at = index + 1;
    if (account > 0) {
      last.account += 1;
      last.accountThrough = at;
      events.push(event(`a${last.account}`, "account", last.account, { through: at, after: last.financeThrough }));
    }
    for (let row = 1; row <= finance; row += 1) {
      last.finance += 1;
      const through = row === finance ? at : at - 1;
      events.push(event(`f${last.finance}`, "finance", last.finance, { through, after: last.accountThrough }));
    }
    if (finance > 0) last.financeThrough = at;
  }
  return events;
}
