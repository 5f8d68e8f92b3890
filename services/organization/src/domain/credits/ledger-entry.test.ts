import { randomUUID } from "node:crypto";
import * as fc from "fast-check";
import { expect, test } from "vitest";

import {
  type LedgerEntry,
  type LedgerEntryKind,
  deltasByOrganization,
  distinctInOrder,
  entryName,
} from "./ledger-entry.ts";
import { crossedThreshold } from "./low-balance.ts";

const ORGANIZATION = randomUUID();

function entry(kind: LedgerEntryKind, credits: number, changes: Partial<LedgerEntry> = {}): LedgerEntry {
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

test("a settlement that consumes moves the credits from reserved to consumed; a settlement that releases only removes them from reserved", () => {
  const entries = [
    entry("purchase", 100),
    entry("reserve", 5),
    entry("reserve", 7),
    entry("consume", 3),
    entry("refund", 1),
  ];
  const settled = [entry("settle", 5, { action: "consume" }), entry("settle", 7, { action: "release" })];
  expect(deltasByOrganization(entries).get(ORGANIZATION)).toEqual({ purchased: 100, reserved: 12, consumed: 2 });
  expect(deltasByOrganization([...entries, ...settled]).get(ORGANIZATION)).toEqual({
    purchased: 100,
    reserved: 0,
    consumed: 7,
  });
});

test("repeated entries in any order become distinct entries in one order", () => {
  const entries = [entry("reserve", 5), entry("consume", 3), entry("settle", 2, { action: "consume" })];
  fc.assert(
    fc.property(fc.shuffledSubarray([...entries, ...entries], { minLength: 6 }), (shuffled) => {
      expect(distinctInOrder(shuffled).map(entryName)).toEqual(distinctInOrder(entries).map(entryName));
    }),
  );
});

test("a balance crosses the threshold when it falls to the threshold, but not when it falls further or rises", () => {
  expect(crossedThreshold({ before: 11, after: 10, threshold: 10 })).toBe(true);
  expect(crossedThreshold({ before: 10, after: 9, threshold: 10 })).toBe(false);
  expect(crossedThreshold({ before: 9, after: 50, threshold: 10 })).toBe(false);
});
