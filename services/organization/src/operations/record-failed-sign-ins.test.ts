import { createLogger } from "@kapi/runtime";
import { TestClock } from "@kapi/testkit";
import { expect, it } from "vitest";

import type { AuditRecord } from "../domain/audit.ts";
import { FAILURE_WINDOW_MS } from "../domain/failed-sign-ins.ts";
import type { StoreTransaction } from "../domain/ports.ts";
import { createFailedSignIns, type FailedAttempt } from "./record-failed-sign-ins.ts";

const USER = { userId: "0197a3c2-5b1e-7c44-9f0e-2a8d4be61f01", organizationId: "0197a3c2-6d20-7a10-8b3f-91c5e07d2a02" };

/** A recorder with a log, which is away as long as it is told. */
function world() {
  const log: AuditRecord[] = [];
  const state = { away: false, lookUps: 0 };
  const clock = new TestClock(1_000_000);
  const tx = { recordAudit: (records: readonly AuditRecord[]) => void log.push(...records) };
  const transaction = <T>(work: (tx: StoreTransaction) => Promise<T>): Promise<T> =>
    state.away ? Promise.reject(new Error("away")) : work(tx as unknown as StoreTransaction);
  const logger = createLogger({ service: "test", level: "silent" });
  const recorder = createFailedSignIns({ store: { transaction }, clock, logger });
  const attempt: FailedAttempt = {
    emailHash: "hash",
    network: "203.0.113.7",
    address: "203.0.113.7",
    user: () => {
      state.lookUps += 1;
      return Promise.resolve(USER);
    },
  };
  return { log, state, clock, recorder, attempt };
}

it("a flood is one entry at once and one with the number of the others, and looks the user up once", async () => {
  const { log, state, clock, recorder, attempt } = world();
  for (let time = 0; time < 500; time += 1) await recorder.add(attempt);
  expect(log).toMatchObject([
    { action: "session.failed", actor: null, subject: { type: "user", id: USER.userId }, details: { failures: 1 } },
  ]);
  await recorder.flush();
  expect(log).toHaveLength(1);
  clock.advance(FAILURE_WINDOW_MS);
  await recorder.flush();
  expect(log[1]).toMatchObject({ organizationId: USER.organizationId, details: { failures: 499 } });
  await recorder.flush("all");
  expect([log.length, state.lookUps]).toEqual([2, 1]);
});

it("what cannot be written is told, kept, and written later", async () => {
  const { log, state, recorder, attempt } = world();
  state.away = true;
  await expect(recorder.add(attempt)).rejects.toThrow("away");
  await recorder.add(attempt);
  await expect(recorder.flush("all")).rejects.toThrow("away");
  state.away = false;
  await recorder.flush("all");
  expect(log.map(({ details }) => details?.["failures"])).toEqual([1, 1]);
  await recorder.flush("all");
  expect(log).toHaveLength(2);
});
