import { describe, expect, it } from "vitest";

import { Lag } from "./lag.ts";

describe("the lag of a consumer", () => {
  it("is the distance from the last handled message to the end that the last fetch reported", () => {
    const lag = new Lag();
    lag.fetched("commands.finance", 0, 110n, 100n, 0);
    expect(lag.observe({ group: "finance" })).toEqual([
      { value: 10, attributes: { group: "finance", topic: "commands.finance", partition: "0" } },
    ]);
    lag.reached("commands.finance", 0, 105n);
    lag.fetched("commands.finance", 0, 200n, 105n, 0);
    expect(lag.observe({})[0]?.value).toBe(95);
    lag.reached("commands.finance", 0, 200n);
    expect(lag.observe({})[0]?.value).toBe(0);
  });

  it("is not reported for partitions of an earlier assignment", () => {
    const lag = new Lag();
    lag.fetched("commands.finance", 0, 110n, 100n, 0);
    lag.forget();
    lag.reached("commands.finance", 0, 105n);
    expect(lag.observe({})).toEqual([]);
  });

  it("counts as a stall only if messages wait and no handler has answered for too long", () => {
    const lag = new Lag();
    lag.fetched("commands.finance", 0, 110n, 100n, 0);
    expect(lag.stalled(60_000, 60_000)).toBeNull();
    expect(lag.stalled(60_000, 60_001)).toContain("partition 0 of commands.finance stands at 100 of 110");
    lag.answered("commands.finance", 0, 50_000);
    expect(lag.stalled(60_000, 110_000)).toBeNull();
    lag.reached("commands.finance", 0, 110n);
    expect(lag.stalled(60_000, 500_000)).toBeNull();
    lag.fetched("commands.finance", 0, 111n, 110n, 500_000);
    expect(lag.stalled(60_000, 560_000)).toBeNull();
    expect(lag.stalled(60_000, 560_001)).not.toBeNull();
  });
});
