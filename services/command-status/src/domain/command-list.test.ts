import { describe, expect, it } from "vitest";

import { daySpansOf, spanOf } from "./command-list.ts";

const never = { from: "infinity", before: "infinity" };

describe("the span of a list", () => {
  it("is all of time without bounds, and whole days of it", () => {
    const span = spanOf({});
    expect(span).toEqual({ from: "-infinity", before: "infinity" });
    expect(daySpansOf(span)).toEqual({
      days: span,
      head: { from: "-infinity", before: "-infinity" },
      tail: never,
    });
  });

  it("has a part of a day at each end, `to` included", () => {
    const span = spanOf({ from: "2026-03-01T12:00:00.000Z", to: "2026-03-04T06:00:00.000Z" });
    expect(daySpansOf(span)).toEqual({
      head: { from: "2026-03-01T12:00:00.000Z", before: "2026-03-02T00:00:00.000Z" },
      days: { from: "2026-03-02T00:00:00.000Z", before: "2026-03-04T00:00:00.000Z" },
      tail: { from: "2026-03-04T00:00:00.000Z", before: "2026-03-04T06:00:00.001Z" },
    });
  });

  it("inside one day is counted by itself, and nothing twice", () => {
    const span = spanOf({ from: "2026-03-01T12:00:00.000Z", to: "2026-03-01T13:00:00.000Z" });
    expect(daySpansOf(span)).toEqual({ head: span, days: never, tail: never });
  });

  it("of exactly one day has no rest", () => {
    const span = spanOf({ from: "2026-03-01T00:00:00.000Z", to: "2026-03-01T23:59:59.999Z" });
    expect(daySpansOf(span)).toEqual({
      head: { from: "2026-03-01T00:00:00.000Z", before: "2026-03-01T00:00:00.000Z" },
      days: { from: "2026-03-01T00:00:00.000Z", before: "2026-03-02T00:00:00.000Z" },
      tail: { from: "2026-03-02T00:00:00.000Z", before: "2026-03-02T00:00:00.000Z" },
    });
  });
});
