import { describe, expect, it } from "vitest";
import fc from "fast-check";

import { type ExportRecord, MAX_COMMAND_EVENT_BYTES } from "@kapi/contracts";

import { MAX_RESULT_BYTES, mergeHistory, timeOf } from "./history-export.ts";

const NOON_MS = Date.UTC(2026, 4, 1, 12);
/** All fields of a command event together, without the result's records, are smaller than this. */
const EVENT_AROUND_BYTES = 64 * 1024;
const ALL = { from: null, to: null, limit: 1_000 };

function at(ms: number): string {
  return new Date(NOON_MS + ms).toISOString();
}

function transaction(sequence: number, ms: number, description: string | null = null): ExportRecord {
  return {
    kind: "transaction",
    id: "0190f6d2-0000-5000-8000-000000000001",
    accountNumber: "10000001",
    sequence,
    type: "deposit",
    amount: 1,
    currency: "USD",
    balanceBefore: 0,
    balanceAfter: 1,
    description,
    requestId: null,
    commandId: null,
    orderId: null,
    positionId: null,
    dealId: null,
    reversalOf: null,
    recordedAt: at(ms),
    createdAt: at(ms),
  };
}

function order(id: string, ms: number): ExportRecord {
  return {
    kind: "order",
    id,
    symbol: "EURUSD",
    side: "buy",
    orderType: "market",
    volume: 1,
    status: "executed",
    createdAt: at(ms),
    executedAt: null,
  };
}

/** The newest `limit` + 1 records up to `to`, as an owner returns them. */
function newest(records: readonly ExportRecord[], to: string | null, limit: number): ExportRecord[] {
  return records
    .filter((record) => to === null || timeOf(record) <= to)
    .toSorted((a, b) => Date.parse(timeOf(b)) - Date.parse(timeOf(a)))
    .slice(0, limit + 1);
}

describe("an export", () => {
  it("has the records of all owners, newest first; records with equal times are in the order of the owners", () => {
    const finance = [transaction(3, 20), transaction(2, 20), transaction(1, 5)];
    const account = [order("c", 30), order("b", 20), order("a", 1)];
    const { records, ...rest } = mergeHistory([finance, account], ALL);
    expect(
      records.map((record) => (record.kind === "transaction" ? record.sequence : "id" in record && record.id)),
    ).toEqual(["c", 3, 2, "b", 1, "a"]);
    expect(rest).toEqual({ from: null, to: null, recordCount: 6, truncated: false });
  });

  it("is ordered by time, not by the text of the time", () => {
    const early = { ...transaction(1, 0), recordedAt: "2026-05-01T12:00:00Z" };
    const late = { ...transaction(2, 0), recordedAt: "2026-05-01T12:00:00.001Z" };
    expect(mergeHistory([[early], [late]], ALL).records).toEqual([late, early]);
  });

  it("below the maximum size is marked as truncated if and only if more records exist than requested", () => {
    const finance = [transaction(2, 2), transaction(1, 1)];
    const exact = mergeHistory([finance, []], { ...ALL, limit: 2 });
    expect(exact).toMatchObject({ recordCount: 2, truncated: false });
    const less = mergeHistory([finance, []], { ...ALL, limit: 1 });
    expect(less).toMatchObject({ recordCount: 1, truncated: true, records: [{ sequence: 2 }] });
    expect(mergeHistory([[], []], ALL)).toMatchObject({ recordCount: 0, truncated: false, records: [] });
  });

  it("is never too large to publish: records beyond the maximum size are left out", () => {
    expect(MAX_RESULT_BYTES + EVENT_AROUND_BYTES).toBeLessThan(MAX_COMMAND_EVENT_BYTES);
    const large = "\u{1F4B0}".repeat(250);
    const allowed = Array.from({ length: 1_000 }, (_, index) => transaction(1_000 - index, -index, large));
    expect(mergeHistory([allowed], ALL)).toMatchObject({ recordCount: 1_000, truncated: false });
    const tooLarge = allowed.map((record) => Object.assign({ ...record }, { description: large.repeat(10) }));
    const cut = mergeHistory([tooLarge], ALL);
    expect(cut.truncated).toBe(true);
    expect(cut.recordCount).toBeGreaterThan(300);
    expect(Buffer.byteLength(JSON.stringify(cut))).toBeLessThan(MAX_RESULT_BYTES + EVENT_AROUND_BYTES);
  });

  it("that is repeated with the time of its last record as `to`, until it is not truncated, finds every record", () => {
    const times = fc.uniqueArray(fc.integer({ min: 0, max: 1_000 }), { maxLength: 60 });
    fc.assert(
      fc.property(times, times, fc.integer({ min: 3, max: 10 }), (ofFinance, ofAccount, limit) => {
        const finance = ofFinance.map((ms, index) => transaction(index + 1, ms));
        const account = ofAccount.map((ms, index) => order(String(index), ms));
        const found = new Set<ExportRecord>();
        let to: string | null = null;
        for (let truncated = true; truncated;) {
          const owners = [finance, account].map((records) => newest(records, to, limit));
          const page = mergeHistory(owners, { from: null, to, limit });
          for (const record of page.records) found.add(record);
          const last = page.records.at(-1);
          // At most two records share a time here, so three records always reach an earlier time.
          to = last === undefined ? null : timeOf(last);
          ({ truncated } = page);
        }
        expect(found.size).toBe(finance.length + account.length);
      }),
    );
  });
});
