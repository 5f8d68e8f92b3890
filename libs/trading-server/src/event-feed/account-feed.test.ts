import { describe, expect, it } from "vitest";

import { balanceChanged } from "@kapi/testkit";

import { classifyEvents } from "./account-feed.ts";

const events = (...sequences: number[]) => sequences.map((sequence) => balanceChanged({ sequence }));

describe("events of an account", () => {
  it.each([
    [0, [1, 2, 3], ["booked", "booked", "booked"], [1, 2, 3]],
    [2, [1, 2, 3], ["duplicate", "duplicate", "booked"], [3]],
    [2, [4, 5], ["gap", "gap"], []],
    [2, [3, 5, 6], ["booked", "gap", "gap"], [3]],
    [2, [3, 3, 4], ["booked", "duplicate", "booked"], [3, 4]],
  ])("that is booked up to sequence %i: the sequences %j are %j", (bookedSequence, sequences, bookings, run) => {
    const classified = classifyEvents(bookedSequence, events(...sequences));
    expect(classified.bookings).toEqual(bookings);
    expect(classified.run.map(({ sequence }) => sequence)).toEqual(run);
  });
});
