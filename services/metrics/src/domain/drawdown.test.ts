import { describe, expect, it } from "vitest";

import { dailyDrawdown, type DrawdownState, type EquityObserved, observe, totalDrawdown } from "./drawdown.ts";

const at = (text: string): number => Date.parse(`2026-03-${text}Z`);

function sample(time: string, equityMinor: number, minimum: Partial<EquityObserved> = {}): EquityObserved {
  return { equityMinor, measuredAtMs: at(time), minimumMinor: equityMinor, minimumAtMs: at(time), ...minimum };
}

function after(...samples: EquityObserved[]): DrawdownState {
  const state = samples.reduce<DrawdownState | null>(observe, null);
  if (state === null) throw new Error("no sample was given");
  return state;
}

describe("the drawdown of a day", () => {
  it("is 0 at the first sample, and does not fall when the equity recovers", () => {
    expect(dailyDrawdown(after(sample("01T10:00", 1_000)))).toBe(0);
    expect(dailyDrawdown(after(sample("01T10:00", 1_000), sample("01T11:00", 900), sample("01T12:00", 1_200)))).toBe(
      10,
    );
  });

  it("starts each day at the last equity of the day before", () => {
    const state = after(sample("01T10:00", 1_000), sample("01T23:00", 800), sample("02T01:00", 780));
    expect(dailyDrawdown(state)).toBe(2.5);
  });

  it("includes an interval's minimum only if it was measured on the sample's day", () => {
    const low = { minimumMinor: 500, minimumAtMs: at("02T00:00:01") };
    expect(dailyDrawdown(after(sample("01T23:59", 1_000), sample("02T00:00:02", 990, low)))).toBe(50);
    const before = { ...low, minimumAtMs: at("01T23:59:59") };
    expect(dailyDrawdown(after(sample("01T23:59", 1_000), sample("02T00:00:02", 990, before)))).toBe(1);
  });
});

describe("the total drawdown", () => {
  it("is the loss from the highest equity ever to the lowest since, over all days", () => {
    const state = after(
      sample("01T10:00", 500),
      sample("02T10:00", 1_000),
      sample("05T10:00", 700),
      sample("06T10:00", 900),
    );
    expect(totalDrawdown(state)).toBe(30);
    expect(totalDrawdown(observe(state, sample("07T10:00", 1_001)))).toBe(0);
  });

  it("ignores a low before the peak", () => {
    const low = { minimumMinor: 100, minimumAtMs: at("01T10:30") };
    expect(totalDrawdown(after(sample("01T10:00", 1_000), sample("01T11:00", 1_100, low)))).toBe(0);
    expect(totalDrawdown(after(sample("01T10:00", 1_000), sample("01T11:00", 1_000, low)))).toBe(90);
  });

  it("is 0 if the equity was never positive, and more than 100 if the equity becomes negative", () => {
    expect(totalDrawdown(after(sample("01T10:00", 0), sample("01T11:00", -100)))).toBe(0);
    expect(totalDrawdown(after(sample("01T10:00", 1_000), sample("01T11:00", -100)))).toBe(110);
  });
});
