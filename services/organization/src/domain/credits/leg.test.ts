import { randomUUID } from "node:crypto";
import * as fc from "fast-check";
import { expect, test } from "vitest";

import { type Leg, type LegKind, deltasByOrganization, distinctInOrder, legName } from "./leg.ts";
import { crossedThreshold } from "./low-balance.ts";

const ORGANIZATION = randomUUID();

function leg(kind: LegKind, credits: number, changes: Partial<Leg> = {}): Leg {
  return {
    chargeId: randomUUID(),
    kind,
    organizationId: ORGANIZATION,
    credits,
    action: null,
    operation: "getCommand",
    requestId: null,
    commandId: null,
    atMs: 0,
    ...changes,
  };
}

test("a reservation that is consumed moves from reserved to consumed; one that is released comes back", () => {
  const legs = [leg("purchase", 100), leg("reserve", 5), leg("reserve", 7), leg("consume", 3), leg("refund", 1)];
  const settled = [leg("settle", 5, { action: "consume" }), leg("settle", 7, { action: "release" })];
  expect(deltasByOrganization(legs).get(ORGANIZATION)).toEqual({ purchased: 100, reserved: 12, consumed: 2 });
  expect(deltasByOrganization([...legs, ...settled]).get(ORGANIZATION)).toEqual({
    purchased: 100,
    reserved: 0,
    consumed: 7,
  });
});

test("legs that come twice and in any order are the same legs in the same order", () => {
  const legs = [leg("reserve", 5), leg("consume", 3), leg("settle", 2, { action: "consume" })];
  fc.assert(
    fc.property(fc.shuffledSubarray([...legs, ...legs], { minLength: 6 }), (shuffled) => {
      expect(distinctInOrder(shuffled).map(legName)).toEqual(distinctInOrder(legs).map(legName));
    }),
  );
});

test("the low balance is told when the threshold is reached, not while below it", () => {
  expect(crossedThreshold({ before: 11, after: 10, threshold: 10 })).toBe(true);
  expect(crossedThreshold({ before: 10, after: 9, threshold: 10 })).toBe(false);
  expect(crossedThreshold({ before: 9, after: 50, threshold: 10 })).toBe(false);
});
