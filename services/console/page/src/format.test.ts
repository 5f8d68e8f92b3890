import { afterEach, describe, expect, it } from "vitest";

import { counted, money, moneyChange, moment, relativeTime, zoneName } from "./format.ts";
import { chooseZone } from "./time-zone.ts";

const NOW = Date.parse("2026-11-26T09:30:40Z");

afterEach(() => chooseZone(null));

describe("an amount of money", () => {
  it("names its currency, has the currency's decimals, and has a minus sign instead of a hyphen", () => {
    expect(money(-1_234.5, "USD")).toBe("−1,234.50 USD");
    expect(money(1_234, "JPY")).toBe("1,234 JPY");
    expect(money(1.5, "KWD")).toBe("1.500 KWD");
    expect(money(1.5, null)).toBe("1.50");
  });

  it("given as text keeps every digit", () => {
    expect(money("90071992547409.93", "EUR")).toBe("90,071,992,547,409.93 EUR");
  });

  it("that is a change has a plus or minus sign, unless it is zero", () => {
    expect([12, 0, -3].map((amount) => moneyChange(amount, "USD"))).toEqual(["+12.00 USD", "0.00 USD", "−3.00 USD"]);
  });
});

it("a noun after a number is in the singular only after 1", () => {
  const texts = [0, 1, 2, 1_234].map((amount) => counted(amount, "credit is", "credits are"));
  expect(texts).toEqual(["0 credits are", "1 credit is", "2 credits are", "1,234 credits are"]);
});

describe("a time", () => {
  it("is shown in the chosen time zone, with the zone's name or offset at that time", () => {
    chooseZone("Europe/Prague");
    expect(moment("2026-11-26T09:30:40Z")).toMatch(/10:30:40 GMT\+1$/);
    expect(moment("2026-07-26T09:30:40Z")).toMatch(/11:30:40 GMT\+2$/);
    chooseZone("UTC");
    expect(moment("2026-11-26T09:30:40Z")).toMatch(/09:30:40 UTC$/);
    expect(zoneName("Asia/Kolkata", NOW)).toBe("GMT+5:30");
  });

  it.each([
    [0, "0 s ago"],
    [59_999, "59 s ago"],
    [60_000, "1 min ago"],
    [3_599_000, "59 min ago"],
    [7_200_000, "2 h ago"],
    [86_400_000 * 3, "3 d ago"],
    [-120_000, "in 2 min"],
  ])("that is %i ms before now is shown as %s", (beforeMs, text) => {
    expect(relativeTime(NOW - beforeMs, NOW)).toBe(text);
  });
});
