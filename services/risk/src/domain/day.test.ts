import fc from "fast-check";
import { describe, expect, it } from "vitest";

import { DayCalendar } from "./day.ts";

function dayAt(timeZone: string, dayStart: string, instant: string): [date: string, start: string, end: string] {
  const { date, startMs, endMs } = new DayCalendar(timeZone, dayStart).dayOf(Date.parse(instant));
  return [date, new Date(startMs).toISOString(), new Date(endMs).toISOString()];
}

describe("a trading day", () => {
  it("starts at its local time and contains that instant", () => {
    const day = ["2026-11-24", "2026-11-24T22:00:00.000Z", "2026-11-25T22:00:00.000Z"];
    expect(dayAt("America/New_York", "17:00", "2026-11-24T22:00:00.000Z")).toEqual(day);
    expect(dayAt("America/New_York", "17:00", "2026-11-25T21:59:59.999Z")).toEqual(day);
    expect(dayAt("America/New_York", "17:00", "2026-11-24T21:59:59.999Z")[0]).toBe("2026-11-23");
  });

  it("has 23 or 25 hours when the clocks change", () => {
    expect(dayAt("Europe/Berlin", "00:00", "2026-03-29T12:00:00Z")).toEqual([
      "2026-03-29",
      "2026-03-28T23:00:00.000Z",
      "2026-03-29T22:00:00.000Z",
    ]);
    expect(dayAt("Europe/Berlin", "00:00", "2026-10-25T12:00:00Z")).toEqual([
      "2026-10-25",
      "2026-10-24T22:00:00.000Z",
      "2026-10-25T23:00:00.000Z",
    ]);
  });

  it("starts at the first instant after the gap if the clocks skip its start", () => {
    // 02:00 CET is followed by 03:00 CEST.
    expect(dayAt("Europe/Berlin", "02:30", "2026-03-29T12:00:00Z")[1]).toBe("2026-03-29T01:00:00.000Z");
    expect(dayAt("America/Sao_Paulo", "00:00", "2018-11-04T12:00:00Z")[1]).toBe("2018-11-04T03:00:00.000Z");
  });

  it("starts at the first occurrence if the clocks repeat its start", () => {
    expect(dayAt("Europe/Berlin", "02:30", "2026-10-25T12:00:00Z")[1]).toBe("2026-10-25T00:30:00.000Z");
    // Between the two occurrences the new day has already started.
    expect(dayAt("Europe/Berlin", "02:30", "2026-10-25T01:10:00Z")[0]).toBe("2026-10-25");
  });

  it("does not exist where the time zone skips the date", () => {
    expect(dayAt("Pacific/Apia", "00:00", "2011-12-30T09:59:59.999Z")[0]).toBe("2011-12-29");
    expect(dayAt("Pacific/Apia", "00:00", "2011-12-30T10:00:00.000Z")[0]).toBe("2011-12-31");
  });

  it("follows the earlier day without a gap or overlap, in any order of the calls", () => {
    const zones = ["UTC", "Europe/London", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu", "Africa/Lagos"];
    const instants = fc.integer({ min: Date.parse("2020-01-01"), max: Date.parse("2030-01-01") });
    fc.assert(
      fc.property(fc.constantFrom(...zones), fc.integer({ min: 0, max: 1439 }), fc.array(instants), (zone, at, all) => {
        const start = `${String(Math.floor(at / 60)).padStart(2, "0")}:${String(at % 60).padStart(2, "0")}`;
        const calendar = new DayCalendar(zone, start);
        for (const instant of all) {
          const day = calendar.dayOf(instant);
          expect(instant).toBeGreaterThanOrEqual(day.startMs);
          expect(instant).toBeLessThan(day.endMs);
          expect(calendar.dayOf(day.endMs).startMs).toBe(day.endMs);
          expect(calendar.dayOf(day.startMs)).toEqual(day);
        }
      }),
      { numRuns: 60 },
    );
  });
});
