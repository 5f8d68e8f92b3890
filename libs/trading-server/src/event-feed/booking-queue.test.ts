import { describe, expect, it } from "vitest";

import type { TradingEvent, AccountRef } from "@kapi/contracts";
import { type Deferred, deferred } from "@kapi/kernel";
import { balanceChanged } from "@kapi/testkit";

import type { Booking, BookingReport } from "./account-feed.ts";
import { BookingQueue } from "./booking-queue.ts";

const SERVER = "0190f6d2-0000-4000-8000-000000000001";

class Unavailable extends Error {}

function setUp() {
  const units: { events: readonly TradingEvent[]; answer: Deferred<BookingReport> }[] = [];
  const noted: (AccountRef & { neededSequence: number })[] = [];
  const unbookable: AccountRef[] = [];
  const queue = new BookingQueue({
    repository: {
      book: (events) => {
        const answer = deferred<BookingReport>();
        units.push({ events, answer });
        return answer.promise;
      },
      noteGap: async (account, neededSequence) => {
        noted.push({ ...account, neededSequence });
      },
    },
    isTransient: (error) => error instanceof Unavailable,
    onGaps: () => undefined,
    onUnbookable: (account) => unbookable.push(account),
  });
  return { queue, units, noted, unbookable };
}

function event(accountNumber: string, sequence: number): TradingEvent {
  return balanceChanged({ serverId: SERVER, accountNumber, sequence });
}

function report(bookings: readonly Booking[]): BookingReport {
  return { bookings, gaps: [] };
}

/** Waits until callbacks of resolved promises have run. */
function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

describe("the booking queue", () => {
  it("makes one unit of concurrent events, with the events of each account in order of sequence", async () => {
    const { queue, units } = setUp();
    const answers = [event("1001", 2), event("1002", 5), event("1001", 1)].map((one) => queue.book(one));
    await turn();
    expect(units).toHaveLength(1);
    expect(units[0]?.events.map(({ accountNumber, sequence }) => [accountNumber, sequence])).toEqual([
      ["1001", 1],
      ["1001", 2],
      ["1002", 5],
    ]);
    units[0]?.answer.resolve(report(["booked", "booked", "gap"]));
    expect(await Promise.all(answers)).toEqual(["booked", "gap", "booked"]);
  });

  it("books an event once if two callers send it at the same time, and answers both callers", async () => {
    const { queue, units } = setUp();
    const first = queue.book(event("1001", 1));
    await turn();
    const second = queue.book(event("1001", 1));
    await turn();
    expect(units).toHaveLength(1);
    units[0]?.answer.resolve(report(["booked"]));
    expect(await Promise.all([first, second])).toEqual(["booked", "booked"]);
    expect(queue.isBooked(SERVER, "1001", 1)).toBe(true);
    expect(await queue.book(event("1001", 1))).toBe("duplicate");
    expect(units).toHaveLength(1);
  });

  it("never has one account in two units at once", async () => {
    const { queue, units } = setUp();
    void queue.book(event("1001", 1));
    await turn();
    void queue.book(event("1001", 2));
    void queue.book(event("1002", 1));
    await turn();
    expect(units.map(({ events }) => events.map(({ accountNumber }) => accountNumber))).toEqual([["1001"], ["1002"]]);
    units[0]?.answer.resolve(report(["booked"]));
    await turn();
    expect(units[2]?.events.map(({ sequence }) => sequence)).toEqual([2]);
  });

  it("rejects all callers while the database is unavailable, and books on retry", async () => {
    const { queue, units } = setUp();
    const answers = Promise.allSettled([queue.book(event("1001", 1)), queue.book(event("1002", 1))]);
    await turn();
    units[0]?.answer.reject(new Unavailable("no connection"));
    const rejected = { status: "rejected", reason: expect.any(Unavailable) };
    expect(await answers).toMatchObject([rejected, rejected]);
    const again = queue.book(event("1001", 1));
    await turn();
    units[1]?.answer.resolve(report(["booked"]));
    expect(await again).toBe("booked");
  });

  it("records a gap for the one account whose events cannot be booked, and books the other accounts", async () => {
    const { queue, units, noted, unbookable } = setUp();
    const bad = queue.book(event("1001", 7));
    const good = queue.book(event("1002", 1));
    await turn();
    units[0]?.answer.reject(new Error("violates a constraint"));
    await turn();
    units[1]?.answer.reject(new Error("violates a constraint"));
    await turn();
    units[2]?.answer.resolve(report(["booked"]));
    expect(await Promise.all([bad, good])).toEqual(["gap", "booked"]);
    expect(unbookable).toEqual([{ serverId: SERVER, accountNumber: "1001" }]);
    expect(noted).toEqual([{ serverId: SERVER, accountNumber: "1001", neededSequence: 7 }]);
  });

  it("asks the database again about dropped events and forgotten accounts", async () => {
    const { queue, units } = setUp();
    const dropped = queue.book(event("1001", 1));
    await turn();
    units[0]?.answer.resolve(report(["dropped"]));
    expect(await dropped).toBe("dropped");
    void queue.book(event("1001", 1));
    await turn();
    units[1]?.answer.resolve(report(["booked"]));
    await turn();
    expect(queue.isBooked(SERVER, "1001", 1)).toBe(true);
    queue.forget({ serverId: SERVER, accountNumber: "1001" });
    void queue.book(event("1001", 1));
    await turn();
    expect(units).toHaveLength(3);
  });
});
