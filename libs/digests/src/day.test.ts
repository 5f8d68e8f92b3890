import { expect, it } from "vitest";

import { addDays, daysBetween, utcDay } from "./day.ts";

it("days are those of UTC, and are counted across the ends of months and years", () => {
  expect(utcDay("2026-03-02T23:59:59.999999Z")).toBe("2026-03-02");
  expect(utcDay(new Date("2026-03-03T00:30:00+02:00"))).toBe("2026-03-02");
  expect(addDays("2026-02-28", 1)).toBe("2026-03-01");
  expect(addDays("2024-02-28", 1)).toBe("2024-02-29");
  expect(addDays("2026-01-01", -1)).toBe("2025-12-31");
  expect(daysBetween("2026-12-30", "2027-01-01")).toEqual(["2026-12-30", "2026-12-31", "2027-01-01"]);
  expect(daysBetween("2026-03-02", "2026-03-01")).toEqual([]);
});
