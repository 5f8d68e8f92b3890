import { describe, expect, it } from "vitest";

import { createFaultPoint } from "./fault-point.ts";

describe("a fault point", () => {
  it("ends the process only at the named point", () => {
    expect(passesUntilDeath({ FAULT_POINT: "after-booking" }, ["before-booking", "after-booking"])).toBe(2);
    expect(passesUntilDeath({ FAULT_POINT: "elsewhere" }, ["before-booking", "after-booking"])).toBeNull();
  });

  it("ends the process only after FAULT_POINT_AFTER earlier passes", () => {
    expect(passesUntilDeath({ FAULT_POINT: "p", FAULT_POINT_AFTER: "2" }, ["p", "p", "p"])).toBe(3);
  });

  it("does nothing without FAULT_POINT", () => {
    expect(passesUntilDeath({}, ["p", ""])).toBeNull();
    expect(passesUntilDeath({ FAULT_POINT: "" }, ["p", ""])).toBeNull();
  });
});

/** The number of the pass, from 1, at which the process dies; null if it survives all passes. */
function passesUntilDeath(env: Record<string, string>, passes: readonly string[]): number | null {
  let passed = 0;
  let diedAt: number | null = null;
  const faultPoint = createFaultPoint(env, () => {
    diedAt ??= passed;
  });
  for (const name of passes) {
    passed += 1;
    faultPoint(name);
  }
  return diedAt;
}
