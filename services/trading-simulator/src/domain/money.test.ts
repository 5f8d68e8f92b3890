import * as fc from "fast-check";
import { describe, expect, it } from "vitest";

import { roundToMinor, shareOfMinor } from "./money.ts";

describe("roundToMinor", () => {
  it("rounds half a cent away from zero, also if the binary fraction is a little less", () => {
    expect(roundToMinor(1.005)).toBe(101);
    expect(roundToMinor(-1.005)).toBe(-101);
    expect(roundToMinor(1.004)).toBe(100);
    expect(roundToMinor(-0.001)).toBe(0);
    expect(Object.is(roundToMinor(-0.001), 0)).toBe(true);
  });
});

describe("shareOfMinor", () => {
  it("neither loses nor creates a cent over any series of partial closes", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: -1_000_000, max: 1_000_000 }),
        fc.array(fc.integer({ min: 1, max: 50 }), { minLength: 1, maxLength: 20 }),
        (total, parts) => {
          let whole = parts.reduce((sum, part) => sum + part, 0);
          let rest = total;
          let shared = 0;
          for (const part of parts) {
            const share = shareOfMinor(rest, part, whole);
            shared += share;
            rest -= share;
            whole -= part;
          }
          expect(shared).toBe(total);
          expect(rest).toBe(0);
        },
      ),
    );
  });
});
