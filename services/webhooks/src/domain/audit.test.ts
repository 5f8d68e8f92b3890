import { AuditEvent } from "@kapi/contracts";
import { expect, it } from "vitest";

import { auditEventOf, changeDetails, originOf, THIS_SERVICE } from "./audit.ts";

const NAME = {
  organizationId: "0197a3c2-5b1e-7c44-9f0e-2a8d4be61f01",
  endpointId: "0197a4b0-3c11-7f52-9d08-4e6a1b2c3d0a",
};
const NOW_MS = Date.UTC(2026, 2, 2);

it.each([{ actor: { type: "key", id: "mfrggzdfmztwq2lk" }, address: "203.0.113.7" } as const, THIS_SERVICE, null])(
  "the audit event of a change by %j matches the contract",
  (by) => {
    const event = auditEventOf("webhook.deleted", NAME, by, NOW_MS);
    expect(AuditEvent.parse(event)).toEqual(event);
    expect(event).toMatchObject({ actor: by?.actor ?? null, address: by?.address ?? null });
  },
);

it("an audit event has the names of the changed fields, and only the origin of a URL", () => {
  const url = "https://hooks.example.com/services/token?key=secret";
  expect(changeDetails({ url, kinds: null, status: "disabled" })).toEqual({
    changed: ["url", "kinds", "status"],
    receiver: "https://hooks.example.com",
    status: "disabled",
  });
  expect(changeDetails({ description: "mine", url: undefined })).toEqual({ changed: ["description"] });
  expect(originOf(url)).not.toContain("token");
});
