import { afterEach, describe, expect, it, vi } from "vitest";

import {
  browsersZone,
  chooseZone,
  currentZone,
  fromLocalInput,
  instantOf,
  isZoneChosen,
  loadZoneOf,
  offsetMs,
  startOfDay,
  startOfMonth,
  toLocalInput,
} from "./time-zone.ts";

const HOUR_MS = 3_600_000;
const PRAGUE = "Europe/Prague";
const at = (iso: string): number => Date.parse(iso);
const iso = (ms: number): string => new Date(ms).toISOString();

afterEach(() => {
  chooseZone(null);
  vi.unstubAllGlobals();
});

it("isZoneChosen is true after the choice of a zone, also of the browser's own zone and without storage", () => {
  vi.stubGlobal("localStorage", undefined);
  loadZoneOf("a person");
  expect([currentZone(), isZoneChosen()]).toEqual([browsersZone(), false]);
  for (const zone of ["Asia/Kolkata", browsersZone()]) {
    chooseZone(zone);
    expect([currentZone(), isZoneChosen()]).toEqual([zone, true]);
  }
  chooseZone(null);
  expect([currentZone(), isZoneChosen()]).toEqual([browsersZone(), false]);
});

describe("a time zone", () => {
  it("has the offset that applies at the instant, also just before and at a clock change", () => {
    expect(offsetMs(PRAGUE, at("2026-03-29T00:59:59.999Z"))).toBe(HOUR_MS);
    expect(offsetMs(PRAGUE, at("2026-03-29T01:00:00Z"))).toBe(2 * HOUR_MS);
    expect(offsetMs("Asia/Kolkata", at("2026-01-01T00:00:00Z"))).toBe(5.5 * HOUR_MS);
    expect(offsetMs("America/St_Johns", at("2026-01-01T00:00:00Z"))).toBe(-3.5 * HOUR_MS);
  });

  it("starts its day at local midnight, on days of 23, 24 and 25 hours", () => {
    expect(iso(startOfDay(PRAGUE, at("2026-03-29T12:00:00Z")))).toBe("2026-03-28T23:00:00.000Z");
    expect(iso(startOfDay(PRAGUE, at("2026-03-29T12:00:00Z"), 1))).toBe("2026-03-29T22:00:00.000Z");
    expect(iso(startOfDay(PRAGUE, at("2026-10-25T23:30:00Z")))).toBe("2026-10-25T23:00:00.000Z");
    expect(iso(startOfDay(PRAGUE, at("2026-10-25T23:30:00Z"), -1))).toBe("2026-10-24T22:00:00.000Z");
  });

  it("starts its month on the first day at local midnight", () => {
    expect(iso(startOfMonth("America/New_York", at("2026-03-01T04:00:00Z")))).toBe("2026-02-01T05:00:00.000Z");
    expect(iso(startOfMonth("America/New_York", at("2026-03-31T12:00:00Z")))).toBe("2026-03-01T05:00:00.000Z");
  });

  it("moves forward a local time that a clock change skips, and takes the first instant of a repeated time", () => {
    expect(fromLocalInput(PRAGUE, "2026-03-29T02:30")).toBe(at("2026-03-29T01:30:00Z"));
    expect(fromLocalInput(PRAGUE, "2026-10-25T02:30")).toBe(at("2026-10-25T00:30:00Z"));
    expect(fromLocalInput(PRAGUE, "")).toBeNull();
  });

  it("converts every local time that it shows into an instant with this local time", () => {
    for (let hour = 0; hour < 24 * 366; hour += 1) {
      const instant = at("2026-01-01T00:00:00Z") + hour * HOUR_MS;
      const again = instantOf("Pacific/Auckland", instant + offsetMs("Pacific/Auckland", instant));
      // In an hour that occurs twice, the result is the earlier instant.
      expect([instant, instant - HOUR_MS]).toContain(again);
      expect(toLocalInput("Pacific/Auckland", again)).toBe(toLocalInput("Pacific/Auckland", instant));
    }
  });
});
