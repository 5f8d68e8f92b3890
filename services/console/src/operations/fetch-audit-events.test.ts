import type { AuditEvent } from "@kapi/contracts";
import { createLogger } from "@kapi/runtime";
import { TestClock } from "@kapi/testkit";
import { expect, it } from "vitest";

import type { AuditSource, FetchedAuditRecord } from "../domain/audit.ts";
import type { PeopleTransaction } from "../domain/ports.ts";
import { fetchAuditEvents } from "./fetch-audit-events.ts";

const AT = "2026-03-02T10:05:00.000Z";
const EVENT: AuditEvent = {
  eventId: "3b1f6a52-8c0d-5e77-b6a1-2f9d4c8e7a10",
  organizationId: "0197a3c2-5b1e-7c44-9f0e-2a8d4be61f01",
  at: AT,
  action: "webhook.created",
  actor: { type: "key", id: "mfrggzdfmztwq2lk" },
  address: "203.0.113.7",
  subject: { type: "webhook", id: "0197a4b0-3c11-7f52-9d08-4e6a1b2c3d0a" },
  details: { receiver: "https://hooks.example.com" },
};

const LOGGER_AND_CLOCK = { logger: createLogger({ service: "test", level: "silent" }), clock: new TestClock() };

/** A source and a log. `reported` has the commits and confirmations in order. */
function harness(events: readonly unknown[]) {
  const reported: string[] = [];
  const log: FetchedAuditRecord[] = [];
  const source: AuditSource = {
    read: () => Promise.resolve(events),
    recorded: (eventIds) => Promise.resolve(void reported.push(`recorded ${eventIds.join(" ")}`)),
  };
  const tx = { recordAudit: (records: readonly FetchedAuditRecord[]) => void log.push(...records) };
  const transaction = async <T>(work: (tx: PeopleTransaction) => Promise<T>): Promise<T> => {
    const result = await work(tx as unknown as PeopleTransaction);
    reported.push("committed");
    return result;
  };
  return { reported, log, source, dependencies: { ...LOGGER_AND_CLOCK, store: { transaction } } };
}

it("waiting audit events are written into the log, and are confirmed only after the commit", async () => {
  const { reported, log, source, dependencies } = harness([EVENT]);
  expect(await fetchAuditEvents(dependencies, source)).toBe(1);
  const { at: _at, ...rest } = EVENT;
  expect(log).toEqual([{ ...rest, atMs: Date.parse(AT) }]);
  expect(reported).toEqual(["committed", `recorded ${EVENT.eventId}`]);
});

it("a partly unreadable audit event is recorded with its readable fields, an event without an id is skipped, and later events are recorded", async () => {
  const unreadable = { ...EVENT, eventId: "3b1f6a52-8c0d-5e77-b6a1-2f9d4c8e7a11", at: null, actor: { type: "robot" } };
  const { reported, log, source, dependencies } = harness([unreadable, "no event", EVENT]);
  expect(await fetchAuditEvents(dependencies, source)).toBe(2);
  expect(log).toMatchObject([
    {
      eventId: unreadable.eventId,
      action: EVENT.action,
      details: { unreadable: { actor: '{"type":"robot"}', at: "null" } },
    },
    { eventId: EVENT.eventId },
  ]);
  expect(reported).toEqual(["committed", `recorded ${unreadable.eventId} ${EVENT.eventId}`]);
});

it("no audit event is confirmed if the log cannot be written", async () => {
  const { reported, source, dependencies } = harness([EVENT]);
  const store = { transaction: () => Promise.reject(new Error("the database is unavailable")) };
  await expect(fetchAuditEvents({ ...dependencies, store }, source)).rejects.toThrow("unavailable");
  expect(reported).toEqual([]);
});

it("nothing is confirmed if no audit event waits", async () => {
  const { reported, source, dependencies } = harness([]);
  expect(await fetchAuditEvents(dependencies, source)).toBe(0);
  expect(reported).toEqual([]);
});
