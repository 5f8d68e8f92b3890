import { describe, expect, it } from "vitest";

import type { Leased } from "../domain/ports.ts";
import { type LaneLimits, Lanes } from "./lanes.ts";

const NOW_MS = 1_000;
/** As many deliveries as nobody takes up at once. */
const MANY = 2_000;
let made = 0;

function delivery(endpointId: string, organizationId = "organization"): Leased {
  made += 1;
  const id = `${endpointId}-${made}`;
  return {
    day: "2026-01-01",
    organizationId,
    endpointId,
    id,
    eventId: id,
    payload: "",
    attemptCount: 0,
    step: 0,
    leaseUntilMs: 60_000,
  };
}

function lanesWith(waiting: Readonly<Record<string, number>>, limits: Partial<LaneLimits> = {}): Lanes {
  const lanes = new Lanes({ concurrency: 100, perOrganization: 1_000, perEndpoint: 8, ...limits }, () => 0);
  for (const [endpointId, count] of Object.entries(waiting)) {
    for (let index = 0; index < count; index += 1) lanes.add(delivery(endpointId), NOW_MS);
  }
  return lanes;
}

/** Starts all that can run now; who, and how many of each. */
function started(lanes: Lanes): Record<string, number> {
  const counts: Record<string, number> = {};
  for (let next = lanes.next(); next !== undefined; next = lanes.next()) {
    counts[next.endpointId] = (counts[next.endpointId] ?? 0) + 1;
  }
  return counts;
}

/** How many deliveries of an endpoint can be taken up. */
function roomOf(lanes: Lanes, endpointId: string, nowMs = NOW_MS, organizationId = "organization"): number {
  const room = lanes.room(nowMs);
  let taken = 0;
  while (taken < MANY && room.take({ organizationId, endpointId })) taken += 1;
  return taken;
}

const ended = { well: true, tookMs: 5, nowMs: NOW_MS, quietUntilMs: null };
const failed = { ...ended, well: false };

describe("the lanes of endpoints", () => {
  it("give each endpoint its own few slots, however much waits for it", () => {
    expect(started(lanesWith({ hanging: 200, quick: 20 }))).toEqual({ hanging: 8, quick: 8 });
  });

  it("serve the endpoints in turn where there are fewer slots than endpoints want", () => {
    const lanes = lanesWith({ a: 50, b: 50, c: 50 }, { concurrency: 12, perEndpoint: 8 });
    expect(started(lanes)).toEqual({ a: 2, b: 2, c: 2 });
    lanes.ended("a", ended);
    lanes.ended("a", ended);
    expect(started(lanes)).toEqual({ a: 1, b: 1 });
  });

  it("keep half of all slots for those who have none, however many hang at once", () => {
    const hanging = Object.fromEntries(Array.from({ length: 40 }, (_, index) => [`hanging ${index}`, 200]));
    const lanes = lanesWith(hanging, { concurrency: 256, perEndpoint: 8 });
    const counts = Object.values(started(lanes));
    expect(counts).toHaveLength(40);
    expect(counts.reduce((sum, count) => sum + count)).toBeLessThan(128 + 40);
    lanes.add(delivery("quick"), NOW_MS);
    expect(started(lanes)).toEqual({ quick: 1 });
  });

  it("leave half of all slots to the others, however many endpoints fail", () => {
    const lanes = lanesWith({ a: 1, b: 1, c: 1, d: 1, e: 1 }, { concurrency: 6, perEndpoint: 8 });
    const failing = Object.keys(started(lanes));
    for (const endpointId of failing) lanes.ended(endpointId, failed);
    for (const endpointId of failing) lanes.add(delivery(endpointId), NOW_MS);
    expect(started(lanes)).toEqual({ a: 1, b: 1, c: 1 });
    lanes.add(delivery("quick"), NOW_MS);
    expect(started(lanes)).toEqual({ quick: 1 });
    lanes.ended("a", failed);
    expect(started(lanes)).toEqual({ d: 1 });
    lanes.ended("b", ended);
    expect(started(lanes)).toEqual({ e: 1 });
  });

  it("count what still runs of an endpoint among those that fail as soon as one attempt did", () => {
    const lanes = lanesWith({ b: 1, c: 1 }, { concurrency: 6, perEndpoint: 3 });
    started(lanes);
    for (const endpointId of ["b", "c"]) lanes.ended(endpointId, failed);
    for (let index = 0; index < 3; index += 1) lanes.add(delivery("a"), NOW_MS);
    expect(started(lanes)).toEqual({ a: 3 });
    lanes.ended("a", failed);
    for (const endpointId of ["b", "c"]) lanes.add(delivery(endpointId), NOW_MS);
    expect(started(lanes)).toEqual({ b: 1 });
    lanes.ended("a", ended);
    expect(started(lanes)).toEqual({ c: 1 });
  });

  it("leave one slot to an endpoint that failed last, until it does well again", () => {
    const lanes = lanesWith({ a: 50 });
    expect(started(lanes)).toEqual({ a: 8 });
    for (let index = 0; index < 2; index += 1) expect(lanes.ended("a", failed)).toEqual([]);
    for (let index = 0; index < 6; index += 1) lanes.skipped("a");
    expect(roomOf(lanes, "a")).toBe(0);
    expect(started(lanes)).toEqual({ a: 1 });
    lanes.ended("a", ended);
    expect(started(lanes)).toEqual({ a: 8 });
  });

  it("let an endpoint rest that failed three times in a row, and longer each time it fails again, until it does well", () => {
    const lanes = lanesWith({ a: 9 });
    started(lanes);
    lanes.ended("a", failed);
    lanes.ended("a", failed);
    expect(lanes.ended("a", failed)).toHaveLength(1);
    expect(lanes.waiting).toBe(0);
    // What was under way when the rest began changes nothing.
    for (let index = 0; index < 5; index += 1) lanes.ended("a", { ...failed, nowMs: NOW_MS + 500 });
    expect([1_999, 2_000].map((nowMs) => roomOf(lanes, "a", nowMs))).toEqual([0, 1]);
    lanes.add(delivery("a"), 2_000);
    expect(started(lanes)).toEqual({ a: 1 });
    lanes.ended("a", { ...failed, nowMs: 2_000 });
    expect([3_999, 4_000].map((nowMs) => roomOf(lanes, "a", nowMs))).toEqual([0, 1]);
    lanes.add(delivery("a"), 4_000);
    started(lanes);
    lanes.ended("a", { ...ended, nowMs: 4_000 });
    expect(roomOf(lanes, "a", 4_000)).toBeGreaterThan(8);
  });

  it("send nothing to an endpoint that asked for rest until it is over, and hand back what waits for it", () => {
    const lanes = lanesWith({ a: 9 });
    started(lanes);
    expect(lanes.ended("a", { ...failed, quietUntilMs: 5_000 })).toHaveLength(1);
    for (let index = 0; index < 7; index += 1) lanes.ended("a", failed);
    expect(roomOf(lanes, "a", 4_999)).toBe(0);
    // Taken up before the rest began.
    expect(lanes.add(delivery("a"), 4_999)).toBe(false);
    expect(started(lanes)).toEqual({});
    expect(lanes.waiting).toBe(0);
    expect(roomOf(lanes, "a", 5_000)).toBe(1);
    expect(lanes.add(delivery("a"), 5_000)).toBe(true);
    expect(started(lanes)).toEqual({ a: 1 });
  });

  it("know a bounded number of endpoints that failed, and begin anew with the one that was sent nothing for longest", () => {
    const lanes = lanesWith({});
    const fail = (endpointId: string): void => {
      lanes.add(delivery(endpointId), NOW_MS);
      lanes.next();
      lanes.ended(endpointId, failed);
    };
    for (let index = 0; index < 10_000; index += 1) fail(String(index));
    expect([0, 1, 9_999].map((index) => roomOf(lanes, String(index)))).toEqual([1, 1, 1]);
    fail("0");
    fail("one more");
    expect([0, 1, 2].map((index) => roomOf(lanes, String(index)))).toEqual([1, 256, 1]);
  });

  it("take up no more than an endpoint will soon have been sent", () => {
    const lanes = lanesWith({ slow: 1 }, { concurrency: 100, perEndpoint: 2 });
    expect(roomOf(lanes, "never seen")).toBe(80);
    for (let index = 0; index < 40; index += 1) {
      lanes.add(delivery("slow"), NOW_MS);
      lanes.next();
      lanes.ended("slow", { ...ended, tookMs: 10_000 });
    }
    expect(roomOf(lanes, "slow")).toBe(2);
  });

  it("give an organization no more than its share, of which half is kept for endpoints that have none yet", () => {
    const lanes = lanesWith({}, { concurrency: 100, perOrganization: 40, perEndpoint: 8 });
    for (let endpoint = 0; endpoint < 20; endpoint += 1) {
      for (let index = 0; index < 8; index += 1) lanes.add(delivery(`hanging ${endpoint}`, "attacker"), NOW_MS);
    }
    const hanging = Object.values(started(lanes));
    expect(hanging).toHaveLength(20);
    expect(hanging.reduce((sum, count) => sum + count)).toBeLessThanOrEqual(40);
    for (let index = 0; index < 8; index += 1) lanes.add(delivery("quick", "victim"), NOW_MS);
    expect(started(lanes)).toEqual({ quick: 8 });
    lanes.ended("hanging 0", ended);
    expect(started(lanes)).toEqual({ "hanging 0": 1 });
  });

  it("leave room for others in memory, however many endpoints of an organization have more than they can send", () => {
    const lanes = lanesWith({});
    const room = lanes.room(NOW_MS);
    const wanted = Array.from({ length: MANY }, (_, index) => delivery(`hanging ${index % 20}`, "attacker"));
    for (const one of wanted.filter((each) => room.take(each))) lanes.add(one, NOW_MS);
    expect(lanes.waiting).toBe(1_000);
    expect(roomOf(lanes, "hanging 0", NOW_MS, "attacker")).toBe(0);
    expect(roomOf(lanes, "another", NOW_MS, "attacker")).toBe(1);
    expect(roomOf(lanes, "quick", NOW_MS, "victim")).toBe(256);
  });

  it("hand everything that waits back at the end", () => {
    const lanes = lanesWith({ a: 10, b: 3 });
    started(lanes);
    expect(lanes.drain()).toHaveLength(2);
    expect(started(lanes)).toEqual({});
  });
});
