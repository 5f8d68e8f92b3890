import { describe, expect, it } from "vitest";

import { Lag } from "./lag.ts";

describe("the lag of a consumer", () => {
  it("is what lies between the last handled message and the end that the last fetch told", () => {
    const lag = new Lag();
    lag.fetched("commands.finance", 0, 110n, 100n);
    expect(lag.observe({ group: "finance" })).toEqual([
      { value: 10, attributes: { group: "finance", topic: "commands.finance", partition: "0" } },
    ]);
    lag.reached("commands.finance", 0, 105n);
    lag.fetched("commands.finance", 0, 200n, 105n);
    expect(lag.observe({})[0]?.value).toBe(95);
    lag.reached("commands.finance", 0, 200n);
    expect(lag.observe({})[0]?.value).toBe(0);
  });

  it("is nobody's here once the partitions are given anew", () => {
    const lag = new Lag();
    lag.fetched("commands.finance", 0, 110n, 100n);
    lag.forget();
    lag.reached("commands.finance", 0, 105n);
    expect(lag.observe({})).toEqual([]);
  });
});
