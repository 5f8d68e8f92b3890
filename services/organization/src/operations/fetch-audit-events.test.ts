import type { AuditEvent } from "@kapi/contracts";
import { expect, it } from "vitest";

import type { AuditRecord, AuditSource } from "../domain/audit.ts";
import type { StoreTransaction } from "../domain/ports.ts";
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

/** A source and a log; what happens is told in order. */
function world(events: readonly AuditEvent[]) {
  const told: string[] = [];
  const log: AuditRecord[] = [];
  const source: AuditSource = {
    read: () => Promise.resolve(events),
    recorded: (eventIds) => Promise.resolve(void told.push(`recorded ${eventIds.join(" ")}`)),
  };
  const tx = { recordAudit: (records: readonly AuditRecord[]) => void log.push(...records) };
  const transaction = async <T>(work: (tx: StoreTransaction) => Promise<T>): Promise<T> => {
    const result = await work(tx as unknown as StoreTransaction);
    told.push("committed");
    return result;
  };
  return { told, log, source, store: { transaction } };
}

it("writes what waits into the log, and tells the source only after that", async () => {
  const { told, log, source, store } = world([EVENT]);
  expect(await fetchAuditEvents(store, source)).toBe(1);
  const { at: _at, ...rest } = EVENT;
  expect(log).toEqual([{ ...rest, atMs: Date.parse(AT) }]);
  expect(told).toEqual(["committed", `recorded ${EVENT.eventId}`]);
});

it("tells the source nothing where the log cannot be written", async () => {
  const { told, source } = world([EVENT]);
  const store = { transaction: () => Promise.reject(new Error("the database is away")) };
  await expect(fetchAuditEvents(store, source)).rejects.toThrow("away");
  expect(told).toEqual([]);
});

it("asks for nothing more where nothing waits", async () => {
  const { told, source, store } = world([]);
  expect(await fetchAuditEvents(store, source)).toBe(0);
  expect(told).toEqual([]);
});
