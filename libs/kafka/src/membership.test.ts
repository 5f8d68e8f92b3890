import { expect, test } from "vitest";

import { Membership } from "./membership.ts";

const SESSION_MS = 10_000;
const LIMIT_MS = SESSION_MS + 20_000;
const FETCH_MS = 250;

/** Records answered fetches, from `fromMs` on for `forMs`. Returns the time of the last one. */
function fetch(membership: Membership, fromMs: number, forMs: number): number {
  for (let nowMs = fromMs; nowMs <= fromMs + forMs; nowMs += FETCH_MS) membership.fetched(nowMs);
  return fromMs + forMs;
}

test("a process that fetches for longer than the limit without an acknowledged heartbeat does not count as a group member", () => {
  const membership = new Membership(SESSION_MS, 0);
  const nowMs = fetch(membership, 0, LIMIT_MS);
  expect(membership.problem()).toBeNull();
  membership.fetched(nowMs + 1);
  expect(membership.problem()).toContain("no heartbeat was acknowledged");
  membership.acknowledged();
  expect(membership.problem()).toBeNull();
});

test("a long outage of the cluster does not end the membership of a process", () => {
  const membership = new Membership(SESSION_MS, 0);
  fetch(membership, 0, SESSION_MS);
  membership.committed(false);
  fetch(membership, 20 * LIMIT_MS, SESSION_MS);
  expect(membership.problem()).toBeNull();
});

test("a process whose commits are rejected for longer than the limit does not count as a group member, although its heartbeats are acknowledged", () => {
  const membership = new Membership(SESSION_MS, 0);
  membership.committed(false);
  let nowMs = fetch(membership, 0, LIMIT_MS + 1);
  membership.committed(false);
  membership.acknowledged();
  membership.fetched(nowMs + FETCH_MS);
  expect(membership.problem()).toContain("no commit was accepted");
  membership.committed(true);
  expect(membership.problem()).toBeNull();
  membership.committed(false);
  nowMs = fetch(membership, nowMs, LIMIT_MS);
  membership.joined();
  fetch(membership, nowMs, LIMIT_MS - FETCH_MS);
  expect(membership.problem()).toBeNull();
});
