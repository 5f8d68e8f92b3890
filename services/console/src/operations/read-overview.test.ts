import { expect, it } from "vitest";

import { creditsPerDay } from "./read-overview.ts";

function usage(day: string, credits: number) {
  return { day, operations: [{ operation: "getTradingAccount", requests: credits, credits }] };
}

it("the rate of credits is that of about the last 24 hours", () => {
  const days = [usage("2026-11-26", 240), usage("2026-11-27", 50)];
  expect(creditsPerDay({ days }, Date.parse("2026-11-27T06:00:00.000Z"))).toBe(50 + 180);
  expect(creditsPerDay({ days }, Date.parse("2026-11-27T00:00:00.000Z"))).toBe(50 + 240);
  expect(creditsPerDay({ days: [] }, 0)).toBe(0);
});
