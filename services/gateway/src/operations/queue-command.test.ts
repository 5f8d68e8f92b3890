import { ApiError } from "@kapi/http";
import { commandMessage } from "@kapi/testkit";
import { expect, it } from "vitest";

import { NotPublished } from "../domain/ports.ts";
import { EARLIER_RESET_REPEATABLE_MS, equalFingerprint, firstFinding, publish, takenOverNow } from "./queue-command.ts";

const BAD = new ApiError("LEVERAGE_NOT_SUPPORTED");
const MISSING = new ApiError("ACCOUNT_NOT_FOUND");
const CONFLICT = new ApiError("SERVER_DISABLED");

it("of what stands against a request 400 is told before 404 before 409, and of the same status the first", () => {
  expect(firstFinding([CONFLICT, null, MISSING, BAD])).toBe(BAD);
  expect(firstFinding([CONFLICT, MISSING, null])).toBe(MISSING);
  expect(firstFinding([CONFLICT, new ApiError("ACCOUNT_QUOTA_REACHED")])).toBe(CONFLICT);
  expect(firstFinding([null])).toBeNull();
});

it("a message that is taken over begins its time anew, and is the same command in everything else", () => {
  const message = commandMessage({ operation: "account.history_export", createdAt: "2026-01-01T00:00:00.000Z" });
  const nowMs = Date.parse("2026-01-01T05:00:00.000Z");
  expect(takenOverNow(message, nowMs)).toEqual({
    ...message,
    createdAt: "2026-01-01T05:00:00.000Z",
    deadlineAt: "2026-01-01T06:00:00.000Z",
  });
});

it.each([
  ["certainly not", new NotPublished("no broker"), false],
  ["perhaps", new ApiError("DEPENDENCY_UNAVAILABLE", { headers: { "retry-after": "1" } }), true],
])(
  "what is %s published is 500 with Retry-After, and the refund is told which it is",
  async (_what, error, mayBePublished) => {
    const marked: boolean[] = [];
    const charge = { mayBePublished: () => marked.push(true), notPublished: () => marked.push(false) };
    const message = commandMessage();
    const published = publish({ commandLog: { publish: () => Promise.reject(error) } }, { charge }, message, "{}");
    await expect(published).rejects.toMatchObject({ code: "DEPENDENCY_UNAVAILABLE", headers: { "retry-after": "1" } });
    expect(marked.at(-1)).toBe(mayBePublished);
  },
);

it("an earlier request is the same one by its fingerprint, or for a while by that of release 0.1.0", () => {
  const message = commandMessage({ operation: "account.password_reset" });
  const earlierFingerprint = "e".repeat(64);
  const wish = { message, earlierFingerprint };
  const nowMs = Date.parse("2026-01-01T05:00:00.000Z");
  const aged = (ageMs: number): string => new Date(nowMs - ageMs).toISOString();
  for (const ageMs of [0, EARLIER_RESET_REPEATABLE_MS, 100 * EARLIER_RESET_REPEATABLE_MS]) {
    expect(equalFingerprint(wish, message.fingerprint, aged(ageMs), nowMs)).toBe(message.fingerprint);
    expect(equalFingerprint(wish, "d".repeat(64), aged(ageMs), nowMs)).toBeNull();
  }
  const ofEarlier = (ageMs: number): string | null => equalFingerprint(wish, earlierFingerprint, aged(ageMs), nowMs);
  expect(ofEarlier(EARLIER_RESET_REPEATABLE_MS - 1)).toBe(earlierFingerprint);
  expect(ofEarlier(EARLIER_RESET_REPEATABLE_MS)).toBeNull();
  expect(equalFingerprint({ message, earlierFingerprint: null }, earlierFingerprint, aged(0), nowMs)).toBeNull();
});
