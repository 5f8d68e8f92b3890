import { expect, test } from "vitest";

import { Membership } from "./membership.ts";

const SESSION_MS = 10_000;
const LIMIT_MS = SESSION_MS + 20_000;

test("a process that fetches without an acknowledged heartbeat is no member", () => {
  const membership = new Membership(SESSION_MS, 0);
  membership.fetched(LIMIT_MS);
  expect(membership.problem()).toBeNull();
  membership.fetched(LIMIT_MS + 1);
  expect(membership.problem()).toContain("no heartbeat was acknowledged");
  membership.acknowledged(LIMIT_MS + 1);
  expect(membership.problem()).toBeNull();
});

test("a process whose cluster is away is not told to be none, however long: nothing is fetched either", () => {
  const membership = new Membership(SESSION_MS, 0);
  membership.fetched(1_000);
  membership.committed(false, 2_000);
  expect(membership.problem()).toBeNull();
});

test("a process whose commits are refused while its heartbeats are acknowledged is no member", () => {
  const membership = new Membership(SESSION_MS, 0);
  membership.committed(false, 1_000);
  membership.committed(false, 5_000);
  membership.acknowledged(LIMIT_MS + 1_001);
  membership.fetched(LIMIT_MS + 1_001);
  expect(membership.problem()).toContain("commits are refused");
  membership.committed(true, LIMIT_MS + 1_002);
  expect(membership.problem()).toBeNull();
  membership.committed(false, LIMIT_MS + 1_003);
  membership.joined(LIMIT_MS + 1_004);
  membership.fetched(LIMIT_MS * 3);
  membership.acknowledged(LIMIT_MS * 3);
  expect(membership.problem()).toBeNull();
});
