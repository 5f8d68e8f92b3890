import { describe, expect, it } from "vitest";

import type { LeasedDelivery } from "../domain/ports.ts";
import { type DeliveryLimits, EndpointQueues } from "./endpoint-queues.ts";

const NOW_MS = 1_000;
/** More deliveries than any capacity. */
const MANY = 2_000;
let made = 0;

function delivery(endpointId: string, organizationId = "organization"): LeasedDelivery {
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

function queuesWith(waiting: Readonly<Record<string, number>>, limits: Partial<DeliveryLimits> = {}): EndpointQueues {
  const queues = new EndpointQueues({ concurrency: 100, perOrganization: 1_000, perEndpoint: 8, ...limits }, () => 0);
  for (const [endpointId, count] of Object.entries(waiting)) {
    for (let index = 0; index < count; index += 1) queues.add(delivery(endpointId), NOW_MS);
  }
  return queues;
}

/** Starts all deliveries that may run; returns their number per endpoint. */
function started(queues: EndpointQueues): Record<string, number> {
  const counts: Record<string, number> = {};
  for (let next = queues.next(); next !== undefined; next = queues.next()) {
    counts[next.endpointId] = (counts[next.endpointId] ?? 0) + 1;
  }
  return counts;
}

/** The number of deliveries of an endpoint that can be reserved. */
function capacityOf(
  queues: EndpointQueues,
  endpointId: string,
  nowMs = NOW_MS,
  organizationId = "organization",
): number {
  const capacity = queues.capacity(nowMs);
  let taken = 0;
  while (taken < MANY && capacity.reserve({ organizationId, endpointId })) taken += 1;
  return taken;
}

const succeeded = { url: "https://a.example.com/", succeeded: true, durationMs: 5, nowMs: NOW_MS, pausedUntilMs: null };
const failed = { ...succeeded, succeeded: false };

describe("the endpoint queues", () => {
  it("give each endpoint a few slots, however many deliveries wait", () => {
    expect(started(queuesWith({ hanging: 200, quick: 20 }))).toEqual({ hanging: 8, quick: 8 });
  });

  it("serve endpoints in turn if slots are scarce", () => {
    const queues = queuesWith({ a: 50, b: 50, c: 50 }, { concurrency: 12, perEndpoint: 8 });
    expect(started(queues)).toEqual({ a: 2, b: 2, c: 2 });
    queues.finish("a", succeeded);
    queues.finish("a", succeeded);
    expect(started(queues)).toEqual({ a: 1, b: 1 });
  });

  it("reserve half of all slots for endpoints without a slot, however many hang", () => {
    const hanging = Object.fromEntries(Array.from({ length: 40 }, (_, index) => [`hanging ${index}`, 200]));
    const queues = queuesWith(hanging, { concurrency: 256, perEndpoint: 8 });
    const counts = Object.values(started(queues));
    expect(counts).toHaveLength(40);
    expect(counts.reduce((sum, count) => sum + count)).toBeLessThan(128 + 40);
    queues.add(delivery("quick"), NOW_MS);
    expect(started(queues)).toEqual({ quick: 1 });
  });

  it("reserve half of all slots for healthy endpoints, however many fail", () => {
    const queues = queuesWith({ a: 1, b: 1, c: 1, d: 1, e: 1 }, { concurrency: 6, perEndpoint: 8 });
    const failing = Object.keys(started(queues));
    for (const endpointId of failing) queues.finish(endpointId, failed);
    for (const endpointId of failing) queues.add(delivery(endpointId), NOW_MS);
    expect(started(queues)).toEqual({ a: 1, b: 1, c: 1 });
    queues.add(delivery("quick"), NOW_MS);
    expect(started(queues)).toEqual({ quick: 1 });
    queues.finish("a", failed);
    expect(started(queues)).toEqual({ d: 1 });
    queues.finish("b", succeeded);
    expect(started(queues)).toEqual({ e: 1 });
  });

  it("count the running deliveries of an endpoint as failing after its first failure", () => {
    const queues = queuesWith({ b: 1, c: 1 }, { concurrency: 6, perEndpoint: 3 });
    started(queues);
    for (const endpointId of ["b", "c"]) queues.finish(endpointId, failed);
    for (let index = 0; index < 3; index += 1) queues.add(delivery("a"), NOW_MS);
    expect(started(queues)).toEqual({ a: 3 });
    queues.finish("a", failed);
    for (const endpointId of ["b", "c"]) queues.add(delivery(endpointId), NOW_MS);
    expect(started(queues)).toEqual({ b: 1 });
    queues.finish("a", succeeded);
    expect(started(queues)).toEqual({ c: 1 });
  });

  it("give a failing endpoint one slot, until it succeeds", () => {
    const queues = queuesWith({ a: 50 });
    expect(started(queues)).toEqual({ a: 8 });
    for (let index = 0; index < 2; index += 1) expect(queues.finish("a", failed)).toEqual([]);
    for (let index = 0; index < 6; index += 1) queues.skip("a");
    expect(capacityOf(queues, "a")).toBe(0);
    expect(started(queues)).toEqual({ a: 1 });
    queues.finish("a", succeeded);
    expect(started(queues)).toEqual({ a: 8 });
  });

  it("pause an endpoint after three consecutive failures, for longer after each further failure, until it succeeds", () => {
    const queues = queuesWith({ a: 9 });
    started(queues);
    queues.finish("a", failed);
    queues.finish("a", failed);
    expect(queues.finish("a", failed)).toHaveLength(1);
    expect(queues.waiting).toBe(0);
    // Attempts that started before the pause change nothing.
    for (let index = 0; index < 5; index += 1) queues.finish("a", { ...failed, nowMs: NOW_MS + 500 });
    expect([1_999, 2_000].map((nowMs) => capacityOf(queues, "a", nowMs))).toEqual([0, 1]);
    queues.add(delivery("a"), 2_000);
    expect(started(queues)).toEqual({ a: 1 });
    queues.finish("a", { ...failed, nowMs: 2_000 });
    expect([3_999, 4_000].map((nowMs) => capacityOf(queues, "a", nowMs))).toEqual([0, 1]);
    queues.add(delivery("a"), 4_000);
    started(queues);
    queues.finish("a", { ...succeeded, nowMs: 4_000 });
    expect(capacityOf(queues, "a", 4_000)).toBeGreaterThan(8);
  });

  it("respect a pause that the receiver asked for, and return the endpoint's waiting deliveries", () => {
    const queues = queuesWith({ a: 9 });
    started(queues);
    expect(queues.finish("a", { ...failed, pausedUntilMs: 5_000 })).toHaveLength(1);
    for (let index = 0; index < 7; index += 1) queues.finish("a", failed);
    expect(capacityOf(queues, "a", 4_999)).toBe(0);
    // This delivery was leased before the pause.
    expect(queues.add(delivery("a"), 4_999)).toBe(false);
    expect(started(queues)).toEqual({});
    expect(queues.waiting).toBe(0);
    expect(capacityOf(queues, "a", 5_000)).toBe(1);
    expect(queues.add(delivery("a"), 5_000)).toBe(true);
    expect(started(queues)).toEqual({ a: 1 });
  });

  it("keep a pause that the receiver asked for, also if an attempt that was running succeeds or asks for a shorter pause", () => {
    const queues = queuesWith({ a: 9 });
    started(queues);
    queues.finish("a", { ...failed, pausedUntilMs: 5_000 });
    queues.finish("a", { ...failed, succeeded: true });
    queues.finish("a", { ...failed, pausedUntilMs: 2_000 });
    expect(queues.add(delivery("a"), 4_999)).toBe(false);
    expect(queues.add(delivery("a"), 5_000)).toBe(true);
  });

  it("send the deliveries of a failing endpoint one at a time, also if the endpoint got a turn before it failed", () => {
    const queues = queuesWith({ a: 6 }, { concurrency: 4, perOrganization: 1_000, perEndpoint: 8 });
    expect(started(queues)).toEqual({ a: 2 });
    queues.finish("a", failed);
    expect(started(queues)).toEqual({});
    queues.finish("a", failed);
    expect(started(queues)).toEqual({ a: 1 });
  });

  it("still send to other failing endpoints after failures during a pause of one endpoint", () => {
    const queues = queuesWith({ limiter: 8 }, { concurrency: 20, perOrganization: 1_000, perEndpoint: 8 });
    started(queues);
    queues.finish("limiter", { ...failed, pausedUntilMs: 5_000 });
    queues.finish("limiter", succeeded);
    for (let index = 0; index < 6; index += 1) queues.finish("limiter", failed);
    queues.add(delivery("other"), NOW_MS);
    started(queues);
    queues.finish("other", failed);
    queues.add(delivery("other"), NOW_MS);
    expect(started(queues)).toEqual({ other: 1 });
  });

  it("remember a bounded number of failed endpoints, and drop the least recently used endpoint", () => {
    const queues = queuesWith({});
    const fail = (endpointId: string): void => {
      queues.add(delivery(endpointId), NOW_MS);
      queues.next();
      queues.finish(endpointId, failed);
    };
    for (let index = 0; index < 10_000; index += 1) fail(String(index));
    expect([0, 1, 9_999].map((index) => capacityOf(queues, String(index)))).toEqual([1, 1, 1]);
    fail("0");
    fail("one more");
    expect([0, 1, 2].map((index) => capacityOf(queues, String(index)))).toEqual([1, 256, 1]);
  });

  it("accept no more deliveries for an endpoint than they will soon send to it", () => {
    const queues = queuesWith({ slow: 1 }, { concurrency: 100, perEndpoint: 2 });
    expect(capacityOf(queues, "never seen")).toBe(80);
    for (let index = 0; index < 40; index += 1) {
      queues.add(delivery("slow"), NOW_MS);
      queues.next();
      queues.finish("slow", { ...succeeded, durationMs: 10_000 });
    }
    expect(capacityOf(queues, "slow")).toBe(2);
  });

  it("limit an organization to its share, and reserve half of the share for its endpoints without a slot", () => {
    const queues = queuesWith({}, { concurrency: 100, perOrganization: 40, perEndpoint: 8 });
    for (let endpoint = 0; endpoint < 20; endpoint += 1) {
      for (let index = 0; index < 8; index += 1) queues.add(delivery(`hanging ${endpoint}`, "attacker"), NOW_MS);
    }
    const hanging = Object.values(started(queues));
    expect(hanging).toHaveLength(20);
    expect(hanging.reduce((sum, count) => sum + count)).toBeLessThanOrEqual(40);
    for (let index = 0; index < 8; index += 1) queues.add(delivery("quick", "victim"), NOW_MS);
    expect(started(queues)).toEqual({ quick: 8 });
    queues.finish("hanging 0", succeeded);
    expect(started(queues)).toEqual({ "hanging 0": 1 });
  });

  it("limit the waiting deliveries of an organization in memory", () => {
    const queues = queuesWith({});
    const capacity = queues.capacity(NOW_MS);
    const wanted = Array.from({ length: MANY }, (_, index) => delivery(`hanging ${index % 20}`, "attacker"));
    for (const one of wanted.filter((each) => capacity.reserve(each))) queues.add(one, NOW_MS);
    expect(queues.waiting).toBe(1_000);
    expect(capacityOf(queues, "hanging 0", NOW_MS, "attacker")).toBe(0);
    expect(capacityOf(queues, "another", NOW_MS, "attacker")).toBe(1);
    expect(capacityOf(queues, "quick", NOW_MS, "victim")).toBe(256);
  });

  it("return all waiting deliveries on drain", () => {
    const queues = queuesWith({ a: 10, b: 3 });
    started(queues);
    expect(queues.drain()).toHaveLength(2);
    expect(started(queues)).toEqual({});
  });
});
