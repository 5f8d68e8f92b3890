import { expect, it } from "vitest";

import { readAuditEvent } from "./audit-event.ts";

const NOW_MS = Date.UTC(2026, 2, 3);
const EVENT = {
  eventId: "3b1f6a52-8c0d-5e77-b6a1-2f9d4c8e7a10",
  organizationId: "0197a3c2-5b1e-7c44-9f0e-2a8d4be61f01",
  at: "2026-03-02T10:05:00.000Z",
  action: "webhook.created",
  actor: { type: "key", id: "mfrggzdfmztwq2lk" },
  address: "203.0.113.7",
  subject: { type: "webhook", id: "0197a4b0-3c11-7f52-9d08-4e6a1b2c3d0a" },
  details: { receiver: "https://hooks.example.com" },
};

it("an audit event is read completely, even if its action is of a later release", () => {
  const { at, ...rest } = { ...EVENT, action: "webhook.archived" };
  expect(readAuditEvent({ ...rest, at }, NOW_MS)).toEqual({
    record: { ...rest, atMs: Date.parse(at) },
    unreadable: [],
  });
});

it.each([
  ["actor", { type: "robot", id: "7" }, { actor: null }],
  ["subject", { type: "invoice", id: "7" }, { subject: null }],
  ["subject", { type: "webhook", id: "a\u0000b" }, { subject: null }],
  ["organizationId", "nobody", { organizationId: null }],
  ["at", "yesterday", { atMs: NOW_MS }],
  ["action", "", { action: "unreadable" }],
  ["details", { name: "half a pair \ud83d" }, {}],
])(
  "an audit event with the unreadable field %s, %j, keeps this field as text beside the readable fields",
  (name, value, kept) => {
    const read = readAuditEvent({ ...EVENT, [name]: value }, NOW_MS);
    expect(read?.unreadable).toEqual([name]);
    expect(read?.record).toMatchObject({ eventId: EVENT.eventId, ...kept });
    expect(read?.record.details).toMatchObject({ unreadable: { [name]: JSON.stringify(value) } });
  },
);

it.each(["\\u0000", "\\\\ud83d", "a\\ud83d\\u0000"])(
  "the details %j of an audit event, whose backslashes are text, are read unchanged",
  (name) => {
    expect(readAuditEvent({ ...EVENT, details: { name } }, NOW_MS)).toMatchObject({
      record: { details: { name } },
      unreadable: [],
    });
  },
);

it("a too long address of an audit event is left out, and the text of an unreadable field is shortened", () => {
  expect(readAuditEvent({ ...EVENT, address: "a".repeat(65) }, NOW_MS)).toMatchObject({
    record: { address: null, details: EVENT.details },
    unreadable: [],
  });
  const read = readAuditEvent({ ...EVENT, action: "\u{1f600}".repeat(10_000) }, NOW_MS);
  expect(JSON.stringify(read?.record).length).toBeLessThan(2_000);
  expect(JSON.stringify(read?.record.details)).not.toMatch(/\\u/);
});

it.each([null, 7, [], "text", {}, { ...EVENT, eventId: "none" }])(
  "%j is not an audit event, because it has no valid event id",
  (event) => {
    expect(readAuditEvent(event, NOW_MS)).toBeNull();
  },
);
