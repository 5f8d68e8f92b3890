import * as fc from "fast-check";
import { describe, expect, it } from "vitest";

import { IntervalLows } from "./interval.ts";

describe("the lows of an interval", () => {
  it("return the lowest equity after any offset, and when it was first measured", () => {
    fc.assert(
      fc.property(
        fc.array(fc.nat(20), { minLength: 1, maxLength: 100 }),
        fc.nat(100),
        fc.nat(100),
        (equities, after, upTo) => {
          const lows = new IntervalLows();
          for (const [offset, equity] of equities.entries()) lows.add(offset, equity, `at ${offset}`);
          const forgotten = Math.min(upTo, after);
          lows.forgetUpTo(forgotten);
          const rest = equities.map((equityMinor, offset) => ({ equityMinor, offset })).slice(after + 1);
          const lowest = rest.toSorted(
            (left, right) => left.equityMinor - right.equityMinor || left.offset - right.offset,
          )[0];
          const found = lows.lowestAfter(after);
          if (lowest === undefined) expect(found).toBeNull();
          else expect(found).toMatchObject({ equityMinor: lowest.equityMinor, measuredAt: `at ${lowest.offset}` });
        },
      ),
    );
  });

  it("never return a higher equity than the lowest, even when there are so many lows that some are merged", () => {
    const lows = new IntervalLows();
    for (let offset = 0; offset < 10_000; offset += 1) lows.add(offset, offset, `at ${offset}`);
    expect(lows.lowestAfter(-1)).toMatchObject({ equityMinor: 0, measuredAt: "at 0" });
    expect(lows.lowestAfter(9_998)).toMatchObject({ equityMinor: 9_999 });
    expect(lows.lowestAfter(5_000)?.equityMinor).toBeLessThanOrEqual(5_001);
  });
});
