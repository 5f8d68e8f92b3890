import { expect, test } from "vitest";

import {
  type CountedFailures,
  FAILURE_WINDOW_MS,
  FailedSignIns,
  type FailedUser,
  MAX_THROTTLED_LOOK_UPS,
  MAX_UNKNOWN_WINDOWS,
  MAX_USER_WINDOWS,
} from "./failed-sign-ins.ts";

const user: FailedUser = { userId: "u", organizationId: "o" };
const attemptOf = (name: string) => ({ emailHash: name, network: "203.0.113.7" });

/** Counts a failure in its window, or opens a window for it, as the recorder does. */
function fail(
  counts: FailedSignIns,
  name: string,
  nowMs: number,
  whose: FailedUser | null = user,
): CountedFailures | null {
  if (counts.count(attemptOf(name), nowMs)) return null;
  return counts.open(attemptOf(name), { user: whose, address: "203.0.113.7" }, nowMs);
}

test("the first failed sign-in of a window is an audit entry at once; all later failures are one entry at the end of the window", () => {
  const counts = new FailedSignIns();
  const first = fail(counts, "a", 1);
  expect(first).toMatchObject({ ...user, address: "203.0.113.7", failures: 1, firstMs: 1, lastMs: 1 });
  for (const nowMs of [5, 6, 9]) expect(fail(counts, "a", nowMs)).toBeNull();
  expect(counts.end(FAILURE_WINDOW_MS)).toEqual([]);
  const [others] = counts.end(FAILURE_WINDOW_MS + 1);
  expect(others).toMatchObject({ ...user, address: "203.0.113.7", failures: 3, firstMs: 5, lastMs: 9 });
  expect(others?.eventId).not.toBe(first?.eventId);
  expect(fail(counts, "a", FAILURE_WINDOW_MS + 2)).toMatchObject({ failures: 1 });
  expect(counts.end(2 * FAILURE_WINDOW_MS + 2)).toEqual([]);
});

test("a flood of failed sign-ins makes few entries; failures of unknown e-mail addresses leave the windows of users free", () => {
  const counts = new FailedSignIns();
  let entries = 0;
  for (let n = 0; n < 5_000; n += 1) if (fail(counts, `nobody ${n}`, 1, null) !== null) entries += 1;
  expect(entries).toBe(MAX_UNKNOWN_WINDOWS);
  for (let n = 0; n < 5_000; n += 1) if (fail(counts, `user ${n}`, 2) !== null) entries += 1;
  expect(entries).toBe(MAX_UNKNOWN_WINDOWS + MAX_USER_WINDOWS);
  const several = { userId: null, address: null };
  expect(counts.end(3, "all")).toMatchObject([
    { ...several, organizationId: null, failures: 5_000 - MAX_UNKNOWN_WINDOWS, firstMs: 1, lastMs: 1 },
    { ...several, organizationId: "o", failures: 5_000 - MAX_USER_WINDOWS, firstMs: 2, lastMs: 2 },
  ]);
  expect(counts.end(FAILURE_WINDOW_MS * 9)).toEqual([]);
});

test("a flood of failed sign-ins in one organization leaves the windows of other organizations free", () => {
  const counts = new FailedSignIns();
  for (let n = 0; n < 5_000; n += 1) fail(counts, `user ${n}`, 1);
  const other = { userId: "v", organizationId: "p" };
  expect(fail(counts, "other", 2, other)).toMatchObject({ ...other, failures: 1 });
});

test("windows that are over make room for new windows", () => {
  const counts = new FailedSignIns();
  for (let n = 0; n < MAX_USER_WINDOWS; n += 1) fail(counts, `user ${n}`, 1);
  expect(fail(counts, "more", 2)).toBeNull();
  counts.end(FAILURE_WINDOW_MS + 2);
  expect(fail(counts, "more", FAILURE_WINDOW_MS + 3)).toMatchObject({ failures: 1 });
});

test("a limited number of users is looked up each minute for throttled attempts", () => {
  const counts = new FailedSignIns();
  const looked = (nowMs: number) => Array.from({ length: 500 }, () => counts.mayLookUp(nowMs)).filter(Boolean).length;
  expect(looked(1)).toBe(MAX_THROTTLED_LOOK_UPS);
  expect(looked(FAILURE_WINDOW_MS)).toBe(0);
  expect(looked(FAILURE_WINDOW_MS + 1)).toBe(MAX_THROTTLED_LOOK_UPS);
});

test("every failure is in exactly one entry", () => {
  const counts = new FailedSignIns();
  let reported = 0;
  for (let n = 0; n < 3_000; n += 1) {
    reported += fail(counts, `user ${n % 301}`, n * 1_000)?.failures ?? 0;
    if (n % 7 === 0) counts.countOther(null, n * 1_000);
    for (const { failures } of counts.end(n * 1_000)) reported += failures;
  }
  for (const { failures } of counts.end(0, "all")) reported += failures;
  expect(reported).toBe(3_000 + Math.ceil(3_000 / 7));
});
