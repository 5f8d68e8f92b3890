import { createLogger } from "@kapi/runtime";
import { TestClock } from "@kapi/testkit";
import { expect, it } from "vitest";

import type { AuditRecord } from "../domain/audit.ts";
import { FAILURE_WINDOW_MS, MAX_THROTTLED_LOOK_UPS } from "../domain/failed-sign-ins.ts";
import type { PeopleTransaction } from "../domain/ports.ts";
import { createFailedSignIns, type FailedAttempt } from "./record-failed-sign-ins.ts";

const USER = { userId: "0197a3c2-5b1e-7c44-9f0e-2a8d4be61f01", organizationId: "0197a3c2-6d20-7a10-8b3f-91c5e07d2a02" };
const ATTEMPT: FailedAttempt = { emailHash: "hash", network: "203.0.113.7", address: "203.0.113.7" };

/** A recorder with a log that, as the audit log does, keeps each event id once. */
function harness() {
  const log = new Map<string | undefined, AuditRecord>();
  const state = { unavailable: false, repliesLost: false, writes: 0, lookUps: 0 };
  const clock = new TestClock(1_000_000);
  const recordAudit = (records: readonly AuditRecord[]): void => {
    for (const record of records) if (!log.has(record.eventId)) log.set(record.eventId, record);
  };
  const transaction = async <T>(work: (tx: PeopleTransaction) => Promise<T>): Promise<T> => {
    state.writes += 1;
    await Promise.resolve();
    if (state.unavailable) throw new Error("unavailable");
    const result = await work({ recordAudit } as unknown as PeopleTransaction);
    if (state.repliesLost) throw new Error("the reply is lost");
    return result;
  };
  const logger = createLogger({ service: "test", level: "silent" });
  const recorder = createFailedSignIns({ store: { transaction }, clock, logger });
  const lookUp = () => {
    state.lookUps += 1;
    return Promise.resolve(USER);
  };
  return { entries: () => [...log.values()], state, clock, recorder, lookUp };
}

it("the first of many failed sign-ins is an audit entry at once; later failures are one entry with their number, without a look-up of the user", async () => {
  const { entries, state, clock, recorder, lookUp } = harness();
  recorder.add(ATTEMPT, USER);
  for (let time = 1; time < 500; time += 1) recorder.addThrottled(ATTEMPT, lookUp);
  await recorder.flush();
  expect(entries()).toMatchObject([
    { action: "session.failed", actor: null, subject: { type: "user", id: USER.userId }, details: { failures: 1 } },
  ]);
  clock.advance(FAILURE_WINDOW_MS);
  await recorder.flush();
  expect(entries()[1]).toMatchObject({ organizationId: USER.organizationId, details: { failures: 499 } });
  await recorder.flush("all");
  expect(entries()).toHaveLength(2);
  expect(state.lookUps).toBe(0);
});

it("throttled attempts look up a limited number of users; further attempts are counted without a user", async () => {
  const { entries, state, recorder, lookUp } = harness();
  for (let n = 0; n < 500; n += 1) recorder.addThrottled({ ...ATTEMPT, emailHash: `hash ${n}` }, lookUp);
  await recorder.flush("all");
  expect(state.lookUps).toBe(MAX_THROTTLED_LOOK_UPS);
  const failures = ({ details }: AuditRecord): number => Number(details?.["failures"]);
  const unnamed = entries().filter(({ organizationId }) => organizationId === null);
  expect(unnamed.map(failures)).toEqual([500 - MAX_THROTTLED_LOOK_UPS]);
  expect(entries().reduce((sum, entry) => sum + failures(entry), 0)).toBe(500);
});

it("a throttled attempt is counted even if the look-up of its user fails", async () => {
  const { entries, recorder } = harness();
  recorder.addThrottled(ATTEMPT, () => Promise.reject(new Error("unavailable")));
  await recorder.flush("all");
  expect(entries()).toMatchObject([{ organizationId: null, subject: null, details: { failures: 1 } }]);
});

it("entries that cannot be written delay no attempt, and are written later", async () => {
  const { entries, state, recorder } = harness();
  state.unavailable = true;
  recorder.add(ATTEMPT, USER);
  recorder.add(ATTEMPT, USER);
  await expect(recorder.flush("all")).rejects.toThrow("unavailable");
  state.unavailable = false;
  await recorder.flush("all");
  expect(entries().map(({ details }) => details?.["failures"])).toEqual([1, 1]);
  await recorder.flush("all");
  expect(entries()).toHaveLength(2);
});

it("entries are in the log once, even if the reply to their write is lost and the write is repeated", async () => {
  const { entries, state, clock, recorder } = harness();
  for (let time = 0; time < 3; time += 1) recorder.add(ATTEMPT, USER);
  await recorder.flush();
  clock.advance(FAILURE_WINDOW_MS);
  state.repliesLost = true;
  await expect(recorder.flush()).rejects.toThrow("lost");
  state.repliesLost = false;
  await recorder.flush();
  expect(entries().map(({ details }) => details?.["failures"])).toEqual([1, 2]);
});

it("concurrent entries are written in few transactions", async () => {
  const { entries, state, recorder } = harness();
  for (let n = 0; n < 10; n += 1) recorder.add({ ...ATTEMPT, emailHash: `hash ${n}` }, USER);
  await recorder.flush();
  expect(entries()).toHaveLength(10);
  expect(state.writes).toBeLessThanOrEqual(2);
});
