import { describe, expect, it } from "vitest";

import { createFaultPoint } from "./fault-point.ts";

describe("a fault point", () => {
  it("ends the process at the named point alone", () => {
    expect(passesUntilDeath({ FAULT_POINT: "after-booking" }, ["before-booking", "after-booking"])).toBe(2);
    expect(passesUntilDeath({ FAULT_POINT: "elsewhere" }, ["before-booking", "after-booking"])).toBeNull();
  });

  it("survives as many passes as its setting says", () => {
    expect(passesUntilDeath({ FAULT_POINT: "p", FAULT_POINT_AFTER: "2" }, ["p", "p", "p"])).toBe(3);
  });

  it("does nothing where none is named", () => {
    expect(passesUntilDeath({}, ["p", ""])).toBeNull();
    expect(passesUntilDeath({ FAULT_POINT: "" }, ["p", ""])).toBeNull();
  });
});

/** The number of the pass, from 1, at which the process would die; null if it never would. */
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
