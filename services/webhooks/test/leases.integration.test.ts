/** Leases of deliveries with many concurrent processes. */
import { randomUUID } from "node:crypto";
import { fileURLToPath } from "node:url";

import { startPool, type Database, migrate } from "@kapi/postgres";
import { createLogger, Scope } from "@kapi/runtime";
import { createTestEnvironment, TestClock } from "@kapi/testkit";
import { afterAll, beforeAll, expect, it } from "vitest";

import { classifyReply } from "../src/domain/attempt.ts";
import { testEvent } from "../src/domain/events.ts";
import type { DeliveryStore, LeasedDelivery } from "../src/domain/ports.ts";
import { createDayStore } from "../src/outbound/postgres/days.ts";
import { createDeliveryStore, LEASE } from "../src/outbound/postgres/delivery-store.ts";
import { createEndpointStore } from "../src/outbound/postgres/endpoint-store.ts";
import { createEventStore } from "../src/outbound/postgres/event-store.ts";

const LEASE_MS = 60_000;
const PROCESSES = 8;
/** A statement that waits for another transaction's lock fails after this time. */
const STATEMENT_TIMEOUT_MS = 3_000;
const directory = fileURLToPath(new URL("../migrations", import.meta.url));
const logger = createLogger({ service: "test", level: "error" });
const scope = new Scope();
const clock = new TestClock(Date.now());
let database: Database;
let deliveries: DeliveryStore;

beforeAll(async () => {
  const environment = await createTestEnvironment({ needs: ["postgres"] });
  await scope.start("environment", () => ({ value: null, stop: () => environment.stop() }));
  const connectionString = environment.postgresUrl;
  await migrate({ connectionString, schema: "webhooks", directory, logger });
  const max = PROCESSES + 2;
  const options = { connectionString, schema: "webhooks", applicationName: "test", max, logger };
  database = await scope.start("database", () => startPool({ ...options, statementTimeoutMs: STATEMENT_TIMEOUT_MS }));
  deliveries = createDeliveryStore(database);
});
afterAll(() => scope.stop());

/** Creates an endpoint with `count` due deliveries that are not leased. */
async function endpointWithDue(count: number): Promise<string> {
  const endpoint = { id: randomUUID(), organizationId: randomUUID() };
  const sealed = { keyId: "k1", iv: "", ciphertext: "", tag: "" };
  const draft = { url: "https://hooks.example.com/", description: "", kinds: null, serverIds: null, secret: sealed };
  await createEndpointStore(database).create({ ...endpoint, ...draft }, 1, clock.nowMs(), null);
  const at = new Date(clock.nowMs()).toISOString();
  const events = Array.from({ length: count }, () => testEvent(endpoint, randomUUID(), at));
  const store = createEventStore(database, createDayStore(database));
  await store.recordEvents(events, () => ({ reserve: () => false }), clock.nowMs(), clock.nowMs() + LEASE_MS);
  return endpoint.id;
}

const lease = (endpointId: string, capacity: number): Promise<readonly LeasedDelivery[]> =>
  deliveries.lease(new Map([[endpointId, capacity]]), clock.nowMs(), clock.nowMs() + LEASE_MS);

/** An attempt of a process, with this response status. */
function attempt(delivery: LeasedDelivery, status: number) {
  const reply = { status, error: null, durationMs: 1, replyStart: "", retryAfter: undefined };
  const [sentAtMs, nowMs] = [clock.nowMs(), clock.nowMs()];
  const number = delivery.attemptCount + 1;
  return { delivery, outcome: classifyReply(reply, { number, failures: delivery.step, sentAtMs, nowMs, random: 0 }) };
}

async function shown(endpointId: string) {
  const query = { page: 1, limit: 10, nowMs: clock.nowMs() };
  return (await deliveries.list(endpointId, query)).deliveries;
}

it("each due delivery is leased by one process, although many processes lease concurrently", async () => {
  const endpointId = await endpointWithDue(400);
  const taken: string[] = [];
  const take = async (): Promise<void> => {
    for (let idle = 0; idle < 2;) {
      const leased = await lease(endpointId, 5);
      taken.push(...leased.map(({ id }) => id));
      idle = leased.length === 0 ? idle + 1 : 0;
    }
  };
  await Promise.all(Array.from({ length: PROCESSES }, take));
  expect(taken).toHaveLength(400);
  expect(new Set(taken).size).toBe(400);
  expect(await lease(endpointId, 5)).toEqual([]);
});

it("while a process leases deliveries, another process can lease the other due deliveries without waiting", async () => {
  const endpointId = await endpointWithDue(5);
  const [now, until] = [clock.nowMs(), clock.nowMs() + LEASE_MS].map((ms) => new Date(ms).toISOString());
  await database.transaction(async (tx) => {
    const first = await tx.query(LEASE, [[endpointId], [3], now, until]);
    const rest = await lease(endpointId, 5);
    expect(rest).toHaveLength(2);
    expect(new Set([...first, ...rest].map(({ id }) => id)).size).toBe(5);
  });
});

it("any process can lease a delivery whose lease expired; the first recorded attempt counts", async () => {
  const endpointId = await endpointWithDue(1);
  const [stalled] = await lease(endpointId, 5);
  clock.advance(LEASE_MS - 1);
  expect(await lease(endpointId, 5)).toEqual([]);
  clock.advance(1);
  const [taken] = await lease(endpointId, 5);
  if (stalled === undefined || taken === undefined) throw new Error("nothing was leased");
  expect(taken.id).toBe(stalled.id);
  await deliveries.record([attempt(taken, 200)], clock.nowMs());
  await deliveries.record([attempt(stalled, 500)], clock.nowMs());
  expect(await shown(endpointId)).toMatchObject([{ status: "succeeded", attempts: [{ number: 1, status: 200 }] }]);
  // The late failure of the stalled process does not count against the endpoint either.
  const [endpoint] = await createEndpointStore(database).find([endpointId]);
  expect(endpoint).toMatchObject({ failingSinceMs: null });

  const again = await endpointWithDue(1);
  const [early] = await lease(again, 5);
  clock.advance(LEASE_MS);
  const [late] = await lease(again, 5);
  if (early === undefined || late === undefined) throw new Error("nothing was leased");
  await deliveries.record([attempt(early, 500)], clock.nowMs());
  await deliveries.record([attempt(late, 500)], clock.nowMs());
  expect(await shown(again)).toMatchObject([{ status: "pending", attempts: [{ number: 1, status: 500 }] }]);
});

it("a process that releases its expired lease does not end the lease of another process", async () => {
  const endpointId = await endpointWithDue(1);
  const expired = await lease(endpointId, 5);
  clock.advance(LEASE_MS);
  const current = await lease(endpointId, 5);
  await deliveries.release(expired, clock.nowMs());
  expect(await lease(endpointId, 5)).toEqual([]);
  await deliveries.release(current, clock.nowMs());
  expect(await lease(endpointId, 5)).toHaveLength(1);
});
