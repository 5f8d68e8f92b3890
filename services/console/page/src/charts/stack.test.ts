import { describe, expect, it } from "vitest";

import { type DayUsage, MAX_LAYERS, stack } from "./stack.ts";

function day(date: string, used: Readonly<Record<string, number>>): DayUsage {
  const operations = Object.entries(used).map(([operation, credits]) => ({ operation, requests: 1, credits }));
  return { day: date, operations };
}

describe("the layers of the usage chart", () => {
  it("are stacked, the largest at the bottom, and the top of the last layer is the usage of the day", () => {
    const layers = stack([
      day("2026-11-20", { read: 5, create: 10 }),
      day("2026-11-21", { read: 20 }),
      day("2026-11-22", {}),
    ]);
    expect(layers).toEqual([
      { name: "read", credits: [5, 20, 0], tops: [5, 20, 0] },
      { name: "create", credits: [10, 0, 0], tops: [15, 20, 0] },
    ]);
  });

  it("show a limited number of operations; all others are combined", () => {
    const used = Object.fromEntries(Array.from({ length: 12 }, (_, index) => [`operation-${index}`, index + 1]));
    const layers = stack([day("2026-11-20", used)]);
    expect(layers).toHaveLength(MAX_LAYERS);
    expect(layers.at(-1)).toMatchObject({ name: "other operations", tops: [78] });
  });

  it("of an operation with more refunds than usage on a day have no height there, but the exact credits", () => {
    expect(stack([day("2026-11-20", { create: 10, read: 1 }), day("2026-11-21", { create: -4, read: 1 })])).toEqual([
      { name: "create", credits: [10, -4], tops: [10, 0] },
      { name: "read", credits: [1, 1], tops: [11, 1] },
    ]);
  });

  it("are empty without usage", () => {
    expect(stack([day("2026-11-20", {})])).toEqual([]);
  });
});
