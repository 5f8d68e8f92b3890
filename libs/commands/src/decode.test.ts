import { CommandHeader } from "@kapi/contracts";
import type { Message } from "@kapi/kafka";
import { commandMessage } from "@kapi/testkit";
import { expect, it } from "vitest";

import { decode, isUnreadable, storedMessage } from "./decode.ts";

const record = (value: unknown): Message => ({
  key: "",
  value: Buffer.from(JSON.stringify(value)),
  headers: {},
  offset: 0n,
  timestampMs: 0,
});

/** Without one of these fields a message names no command, and becomes a dead letter. */
const IDENTIFYING = new Set(["commandId", "organizationId", "serverId", "operation"]);
/** These fields are dropped if they are unreadable: nothing depends on them. */
const OPTIONAL = ["createdBy", "callerAddress"];
const fields = Object.keys({ ...CommandHeader.shape, payload: null }).filter(
  (field) => !IDENTIFYING.has(field) && !OPTIONAL.includes(field),
);

it.each(OPTIONAL)("a command message with a damaged %s is read without this field", (field) => {
  const message = commandMessage();
  const incoming = decode(record({ ...message, [field]: ["damaged"] }), 0);
  if (typeof incoming === "string") throw new Error(incoming);
  expect(incoming.unreadable).toBeNull();
  expect(incoming.message).toEqual({ ...message, [field]: field === "callerAddress" ? null : undefined });
});

it.each(fields)(
  "a command message with a damaged %s is unreadable, and is stored in a form that can be read from the inbox",
  (field) => {
    const incoming = decode(record({ ...commandMessage(), [field]: ["damaged"] }), 0);
    if (typeof incoming === "string") throw new Error(incoming);
    expect(incoming.unreadable).toContain(field);
    const stored: unknown = JSON.parse(incoming.text);
    expect(isUnreadable(stored)).toBe(true);
    expect(storedMessage(stored)).toEqual(incoming.message);
  },
);

it("a command message with damaged times gets the time of its Kafka record, and the deadline of its operation", () => {
  const timestampMs = Date.parse("2026-03-02T10:05:00.000Z");
  const damaged = commandMessage({ operation: "account.history_export", createdAt: "", deadlineAt: "" });
  const incoming = decode({ ...record(damaged), timestampMs }, 0);
  if (typeof incoming === "string") throw new Error(incoming);
  expect(incoming.unreadable).toContain("createdAt");
  expect(incoming.message).toMatchObject({
    createdAt: "2026-03-02T10:05:00.000Z",
    deadlineAt: "2026-03-02T11:05:00.000Z",
  });
});

it("a command message of release 0.1.0 gets its amount in minor units, whether it is read from Kafka or from the inbox", () => {
  const { amountMinor: _unknown, ...former } = commandMessage({ payload: { amount: 1_234.56 } });
  const incoming = decode(record(former), 0);
  if (typeof incoming === "string") throw new Error(incoming);
  expect(incoming).toMatchObject({ unreadable: null, message: { amountMinor: 123_456 } });
  expect(JSON.parse(incoming.text)).toEqual(former);
  expect(storedMessage(former)).toEqual(incoming.message);
});

it("an inbox row of release 0.1.0 with an invalid payload is read as an unreadable command", () => {
  const stored = commandMessage({ payload: { amount: "a lot" } });
  expect(storedMessage(stored)).toEqual({ ...stored, payload: {}, unreadable: true });
});
