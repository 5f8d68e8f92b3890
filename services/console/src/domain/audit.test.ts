import type { AuditEntry } from "@kapi/contracts";
import { describe, expect, it } from "vitest";

import { auditPageOf, shownToPeople } from "./audit.ts";

const entry = (id: number): AuditEntry => ({
  id: String(id),
  at: "2026-03-02T10:05:00.000Z",
  organizationId: null,
  action: "session.failed",
  actor: null,
  address: null,
  subject: null,
  details: {},
});

it("people see an operator's entry without the address and server details, and other entries unchanged", () => {
  const operators = {
    ...entry(1),
    address: "10.0.0.7",
    actor: { type: "operator", id: null, name: null },
    details: { name: "Live", tradingServer: "https://bridge.internal:8443", tokenChanged: true },
  } as const;
  expect(shownToPeople(operators)).toEqual({ ...operators, address: null, details: { name: "Live" } });
  const own = { ...operators, actor: { type: "user", id: "u", name: null } } as const;
  expect(shownToPeople(own)).toEqual(own);
});

describe("a page of the audit log", () => {
  it("has the id of its last entry as `next` if there are more entries", () => {
    expect(auditPageOf([entry(9), entry(7), entry(3)], 2)).toMatchObject({
      entries: [{ id: "9" }, { id: "7" }],
      next: "7",
    });
  });

  it("has `next` null if there are no more entries", () => {
    expect(auditPageOf([entry(9), entry(7)], 2).next).toBeNull();
    expect(auditPageOf([], 2)).toEqual({ entries: [], next: null });
  });
});
