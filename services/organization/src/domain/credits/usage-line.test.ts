import { expect, test } from "vitest";

import { deltaOf, type LedgerEntryKind } from "./ledger-entry.ts";
import { isUsageLine, usageLine } from "./usage-line.ts";

const createdBy = { type: "key", id: "mfrggzdfmztwq2lk" } as const;
const request = { operation: "x", requestId: null, commandId: null, createdBy, at: "2026-01-01T00:00:00.000Z" };
const entries: { kind: LedgerEntryKind; action: "consume" | "release" | null }[] = [
  { kind: "purchase", action: null },
  { kind: "consume", action: null },
  { kind: "refund", action: null },
  { kind: "reserve", action: null },
  { kind: "settle", action: "consume" },
  { kind: "settle", action: "release" },
];

test.each(entries)(
  "the line of $kind $action shows what the entry adds to reserved and consumed credits; an entry that adds nothing has no line",
  ({ kind, action }) => {
    const { reserved, consumed } = deltaOf({ kind, action, credits: 7 });
    if (kind === "purchase" || !isUsageLine({ kind, action, credits: 7 })) expect(reserved + consumed).toBe(0);
    else expect(usageLine({ ...request, kind, credits: 7 }).credits).toBe(reserved + consumed);
    expect(isUsageLine({ kind, action, credits: 0 })).toBe(false);
  },
);

test("a usage line names who made the request", () => {
  expect(usageLine({ ...request, kind: "consume", credits: 7 }).createdBy).toEqual(createdBy);
});
