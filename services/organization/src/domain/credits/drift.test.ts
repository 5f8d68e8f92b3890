import { describe, expect, it } from "vitest";

import { creditsOf, driftOfEntries, driftOfRedis, withAvailable } from "./drift.ts";
import type { LedgerEntry } from "./ledger-entry.ts";

const organizationId = "01990000-0000-7000-8000-000000000001";
const sums = { purchased: 100, reserved: 5, consumed: 20 };
const ledger = [{ organizationId, sums }];
const read: LedgerEntry = {
  chargeId: "charge",
  kind: "consume",
  organizationId,
  credits: 3,
  action: null,
  operation: "getCommand",
  requestId: null,
  commandId: null,
  atMs: 0,
};

describe("a wallet in Redis", () => {
  const withRead = { purchased: 100, reserved: 5, consumed: 23, available: 72 };

  it("is correct if it has the ledger's sums plus the charges that the ledger does not have yet", () => {
    expect(driftOfRedis(ledger, new Map([[organizationId, withAvailable(sums)]]), [])).toEqual([]);
    expect(driftOfRedis(ledger, new Map([[organizationId, withRead]]), [read])).toEqual([]);
  });

  it("drifts if one sum differs, and the drift is the difference", () => {
    const [drift, ...more] = driftOfRedis(ledger, new Map([[organizationId, withRead]]), []);
    expect(more).toEqual([]);
    expect(drift).toMatchObject({
      organizationId,
      source: "redis",
      expected: { consumed: 20 },
      found: { consumed: 23 },
    });
    expect(drift && creditsOf(drift)).toBe(3);
    const wrongSum = { ...withAvailable(sums), available: 74 };
    expect(driftOfRedis(ledger, new Map([[organizationId, wrongSum]]), [])).toHaveLength(1);
  });

  it("drifts if Redis does not have it, unless all its sums are 0", () => {
    expect(driftOfRedis(ledger, new Map(), [])).toMatchObject([{ found: null }]);
    const empty = { organizationId, sums: { purchased: 0, reserved: 0, consumed: 0 } };
    expect(driftOfRedis([empty], new Map(), [])).toEqual([]);
  });
});

it("a wallet in the ledger drifts if its credit ledger entries give other sums", () => {
  expect(driftOfEntries(ledger, new Map([[organizationId, sums]]))).toEqual([]);
  const [drift] = driftOfEntries(ledger, new Map([[organizationId, { ...sums, reserved: 12 }]]));
  expect(drift).toMatchObject({ source: "entries" });
  expect(drift && creditsOf(drift)).toBe(7);
});
