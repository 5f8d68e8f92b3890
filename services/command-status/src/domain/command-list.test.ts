import { describe, expect, it } from "vitest";

import { dayRangesOf, timeRangeOf } from "./command-list.ts";

const never = { from: "infinity", before: "infinity" };

describe("the time range of a list", () => {
  it("without bounds is all of time, as whole days", () => {
    const range = timeRangeOf({});
    expect(range).toEqual({ from: "-infinity", before: "infinity" });
    expect(dayRangesOf(range)).toEqual({
      days: range,
      head: { from: "-infinity", before: "-infinity" },
      tail: never,
    });
  });

  it("begins and ends with a part of a day, and includes the time `to`", () => {
    const range = timeRangeOf({ from: "2026-03-01T12:00:00.000Z", to: "2026-03-04T06:00:00.000Z" });
    expect(dayRangesOf(range)).toEqual({
      head: { from: "2026-03-01T12:00:00.000Z", before: "2026-03-02T00:00:00.000Z" },
      days: { from: "2026-03-02T00:00:00.000Z", before: "2026-03-04T00:00:00.000Z" },
      tail: { from: "2026-03-04T00:00:00.000Z", before: "2026-03-04T06:00:00.001Z" },
    });
  });

  it("within one day is one part of a day, so that no command counts twice", () => {
    const range = timeRangeOf({ from: "2026-03-01T12:00:00.000Z", to: "2026-03-01T13:00:00.000Z" });
    expect(dayRangesOf(range)).toEqual({ head: range, days: never, tail: never });
  });

  it("of exactly one day has empty parts at its ends", () => {
    const range = timeRangeOf({ from: "2026-03-01T00:00:00.000Z", to: "2026-03-01T23:59:59.999Z" });
    expect(dayRangesOf(range)).toEqual({
      head: { from: "2026-03-01T00:00:00.000Z", before: "2026-03-01T00:00:00.000Z" },
      days: { from: "2026-03-01T00:00:00.000Z", before: "2026-03-02T00:00:00.000Z" },
      tail: { from: "2026-03-02T00:00:00.000Z", before: "2026-03-02T00:00:00.000Z" },
    });
  });
});
