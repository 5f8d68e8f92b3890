import { randomUUID } from "node:crypto";

import { sealPassword } from "@kapi/kernel";
import { createLogger } from "@kapi/runtime";
import { eventually, TestClock } from "@kapi/testkit";
import { describe, expect, it } from "vitest";

import type { Reply } from "../domain/attempt.ts";
import type { Endpoint } from "../domain/endpoint.ts";
import type { LeasedDelivery, AttemptRecord } from "../domain/ports.ts";
import { generateSecret } from "../domain/signature.ts";
import { Deliverer } from "./deliverer.ts";
import { EndpointCache } from "./endpoint-cache.ts";

const LEASE_MS = 60_000;
const TIMEOUT_MS = 15_000;
const MARGIN_MS = 1_000;
const keys = { currentKeyId: "k1", keys: new Map([["k1", Buffer.alloc(32)]]) };
const otherKeys = { currentKeyId: "k2", keys: new Map([["k2", Buffer.alloc(32)]]) };

function endpointOf(keyring = keys): Endpoint {
  const id = randomUUID();
  return {
    id,
    organizationId: randomUUID(),
    url: `https://${id}.example.com/`,
    description: "",
    kinds: null,
    serverIds: null,
    status: "enabled",
    disabledReason: null,
    secret: sealPassword(keyring, id, generateSecret()),
    previousSecret: null,
    previousUntilMs: null,
    failingSinceMs: null,
    createdAtMs: 0,
    updatedAtMs: 0,
  };
}

/**
 * A deliverer with fake receivers and stores. Receivers answer `status` after `answer` resolves.
 * While `broken`, no attempt can be recorded.
 */
function createHarness(endpoints: readonly Endpoint[]) {
  const clock = new TestClock();
  const state = {
    broken: false,
    sent: 0,
    recorded: [] as AttemptRecord[],
    released: [] as string[],
    notEnabled: [] as string[],
    answer: (): Promise<void> => Promise.resolve(),
    status: (_url: string): number => 200,
  };
  const reply: Omit<Reply, "status"> = { error: null, durationMs: 1, replyStart: "", retryAfter: undefined };
  const store = { find: (ids: readonly string[]) => Promise.resolve(endpoints.filter(({ id }) => ids.includes(id))) };
  const deliverer = new Deliverer({
    limits: { concurrency: 4, perOrganization: 4, perEndpoint: 2 },
    sender: {
      send: async ({ url }) => {
        state.sent += 1;
        await state.answer();
        return { ...reply, status: state.status(url) };
      },
      abort: () => undefined,
    },
    endpointCache: new EndpointCache({ store, keys, clock }),
    deliveries: {
      record: (attempts) => {
        if (state.broken) return Promise.reject(new Error("the database is unavailable"));
        state.recorded.push(...attempts);
        return Promise.resolve();
      },
      release: (deliveries) => {
        state.released.push(...deliveries.map(({ id }) => id));
        return Promise.resolve();
      },
    },
    endpoints: { disable: () => Promise.resolve(false) },
    timeoutMs: TIMEOUT_MS,
    marginMs: MARGIN_MS,
    onCapacity: () => undefined,
    onNotEnabled: (endpointId) => state.notEnabled.push(endpointId),
    clock,
    random: () => 0,
    logger: createLogger({ service: "test", level: "silent" }),
  });
  const lease = ({ id: endpointId, organizationId }: Endpoint, leaseMs = LEASE_MS): LeasedDelivery => {
    const id = randomUUID();
    const leaseUntilMs = clock.nowMs() + leaseMs;
    const name = { day: "2026-01-01", organizationId, endpointId, id };
    return { ...name, eventId: id, payload: "{}", attemptCount: 0, step: 0, leaseUntilMs };
  };
  return { clock, state, deliverer, lease };
}

describe("the deliverer", () => {
  it("frees a slot once per delivery, even if the attempts can never be recorded", async () => {
    const endpoint = endpointOf();
    const { clock, state, deliverer, lease } = createHarness([endpoint]);
    state.broken = true;
    deliverer.add([lease(endpoint), lease(endpoint), lease(endpoint)]);
    await eventually(() => state.sent === 3);
    clock.advance(LEASE_MS);
    await eventually(() => deliverer.running === 0);
    await deliverer.stop();
    expect(deliverer.running).toBe(0);
    expect(state.recorded).toEqual([]);
  });

  it("skips a delivery whose lease may expire before the attempt is recorded", async () => {
    const endpoint = endpointOf();
    const { state, deliverer, lease } = createHarness([endpoint]);
    deliverer.add([lease(endpoint, TIMEOUT_MS + MARGIN_MS - 1), lease(endpoint, TIMEOUT_MS + MARGIN_MS)]);
    await eventually(() => state.recorded.length === 1);
    expect(state.sent).toBe(1);
  });

  it("fails the attempt at a delivery that it cannot sign, and sends all other deliveries", async () => {
    const [good, bad] = [endpointOf(), endpointOf(otherKeys)];
    const { state, deliverer, lease } = createHarness([good, bad]);
    deliverer.add([lease(bad), lease(good)]);
    await eventually(() => state.recorded.length === 2);
    const outcomes = new Map(state.recorded.map(({ delivery, outcome }) => [delivery.endpointId, outcome]));
    expect(outcomes.get(good.id)).toMatchObject({ status: "succeeded" });
    expect(outcomes.get(bad.id)).toMatchObject({
      status: "pending",
      attempt: { error: "the secret of the endpoint cannot be decrypted: rotate it" },
    });
    expect(state.sent).toBe(1);
  });

  it("releases deliveries of an endpoint that was disabled or deleted meanwhile, and reports the endpoint", async () => {
    const disabled: Endpoint = { ...endpointOf(), status: "disabled", disabledReason: "owner" };
    const deleted = endpointOf();
    const { state, deliverer, lease } = createHarness([disabled]);
    const waiting = [lease(disabled), lease(disabled), lease(disabled), lease(deleted)];
    deliverer.add(waiting);
    await eventually(() => state.released.length === waiting.length);
    expect(state.sent).toBe(0);
    expect(state.released.toSorted()).toEqual(waiting.map(({ id }) => id).toSorted());
    expect(new Set(state.notEnabled)).toEqual(new Set([disabled.id, deleted.id]));
  });

  it("releases waiting deliveries after three consecutive failures, and sends to other endpoints", async () => {
    const [failing, healthy] = [endpointOf(), endpointOf()];
    const { state, deliverer, lease } = createHarness([failing, healthy]);
    state.status = (endpointUrl) => (endpointUrl === failing.url ? 500 : 200);
    const all = Array.from({ length: 6 }, () => lease(failing));
    deliverer.add(all);
    await eventually(() => state.released.length > 0);
    expect(state.released).toEqual(all.slice(state.sent).map(({ id }) => id));
    deliverer.add([lease(healthy)]);
    await eventually(() => state.recorded.some(({ delivery }) => delivery.endpointId === healthy.id));
    expect(deliverer.capacity().reserve({ organizationId: failing.organizationId, endpointId: failing.id })).toBe(
      false,
    );
  });

  it("releases the waiting deliveries when it stops, and records the attempts of the running deliveries", async () => {
    const endpoint = endpointOf();
    const { state, deliverer, lease } = createHarness([endpoint]);
    const { promise, resolve } = Promise.withResolvers<void>();
    state.answer = () => promise;
    const all = Array.from({ length: 5 }, () => lease(endpoint));
    deliverer.add(all);
    await eventually(() => state.sent === 2);
    const stopped = deliverer.stop();
    resolve();
    await stopped;
    expect(state.recorded).toHaveLength(2);
    expect(state.released).toEqual(all.slice(2).map(({ id }) => id));
    expect(deliverer.capacity().reserve({ organizationId: endpoint.organizationId, endpointId: endpoint.id })).toBe(
      false,
    );
  });
});
