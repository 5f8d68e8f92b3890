/** Deliveries to receivers that accept, reject, redirect, pause or do not answer. */
import { randomUUID } from "node:crypto";

import { TOPICS, WebhookEvent } from "@kapi/contracts";
import { eventually } from "@kapi/testkit";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";

import { RESOLVE_TIMEOUT_MS } from "../src/outbound/http/dns-resolver.ts";
import { account, anyOwner, commandEvent, lowBalance, position, transaction } from "./event-messages.ts";
import { NameServer } from "./name-server.ts";
import { hang, ok, Receiver, status, verified } from "./receiver.ts";
import { Harness } from "./harness.ts";

const TIMEOUT_MS = 700;
const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const MIB = 1_024 * 1_024;

let harness: Harness;
let receiver: Receiver;
/** A name server that answers for {@link NAME} only. */
let nameServer: NameServer;
const NAME = "hooks.receiver.example";

beforeAll(async () => {
  nameServer = await NameServer.start((name) => (name === NAME ? { address: "127.0.0.1" } : "silent"));
  const env = { WEBHOOK_TIMEOUT_MS: String(TIMEOUT_MS), WEBHOOK_CONCURRENCY: "40" };
  harness = await Harness.start(env, { nameServers: [nameServer.address] });
});
afterAll(async () => {
  await harness.stop();
  await nameServer.stop();
});
beforeEach(async () => {
  receiver = await Receiver.start();
});
afterEach(async () => {
  const { body } = await harness.call("GET", "/webhooks");
  for (const { id } of (body as { endpoints: { id: string }[] }).endpoints)
    await harness.call("DELETE", `/webhooks/${id}`);
  await receiver.stop();
});

const owner = () => ({ ...anyOwner(), organizationId: harness.organizationId });
const now = (): number => harness.clock.nowMs();

/** Creates an endpoint, and sends a test event to it. */
async function tested(): Promise<{ id: string; secret: string; eventId: string }> {
  const endpoint = await harness.createEndpoint({ url: receiver.url });
  const { status: code, body } = await harness.call("POST", `/webhooks/${endpoint.id}/test`);
  expect(code).toBe(202);
  return { ...endpoint, eventId: (body as { eventId: string }).eventId };
}

describe("a receiver with the standardwebhooks package", () => {
  it("verifies deliveries of account, finance and credits events, and rejects a changed body or an old timestamp", async () => {
    const { secret } = await harness.createEndpoint({ url: receiver.url });
    const of = owner();
    const published = [position("position.closed", of), account("account.password_changed", of)];
    await harness.publish(TOPICS.accountEvents, published[0] ?? {}, 3);
    await harness.publish(TOPICS.accountEvents, published[1] ?? {});
    const money = transaction(of);
    await harness.publish(TOPICS.financeEvents, money);
    const low = lowBalance(harness.organizationId);
    await harness.publish(TOPICS.creditsEvents, low);
    await eventually(() => expect(receiver.received).toHaveLength(4));
    const events = receiver.received.map((received) => WebhookEvent.parse(verified(secret, received, now())));
    const ids = [...published, money, low].map(({ eventId }) => eventId);
    expect(events.map(({ data }) => data.eventId).toSorted()).toEqual(ids.toSorted());
    expect(receiver.idsAt().toSorted()).toEqual(ids.toSorted());
    const sequences = events.flatMap(({ data }) => data.accountSequence ?? []);
    expect(sequences.toSorted((a, b) => a - b)).toEqual([1, 2, 3]);
    for (const received of receiver.received) {
      const changed = { ...received, body: received.body.replace(/[0-9]/, (digit) => (digit === "1" ? "2" : "1")) };
      expect(() => verified(secret, changed, now())).toThrow();
      expect(() => verified(secret, received, now() + 6 * MINUTE_MS)).toThrow();
    }
  });

  it("gets each subscribed event once, also if Kafka repeats messages", async () => {
    const of = owner();
    const asked = { kinds: ["position.closed", "command.failed"] as const, serverIds: [of.serverId] };
    await harness.createEndpoint({ url: receiver.url, kinds: [...asked.kinds], serverIds: asked.serverIds });
    const closed = position("position.closed", of);
    await harness.publish(TOPICS.accountEvents, position("position.opened", of));
    await harness.publish(TOPICS.accountEvents, position("position.closed", owner()));
    await harness.publish(TOPICS.accountEvents, closed, 20);
    await harness.publish(TOPICS.commandEvents, commandEvent({ status: "succeeded" }, of));
    const failed = commandEvent({ status: "failed", errorCode: "INSUFFICIENT_FUNDS" }, of);
    await harness.publish(TOPICS.commandEvents, failed, 5);
    await eventually(() => expect(receiver.received).toHaveLength(2));
    await harness.publish(TOPICS.accountEvents, closed, 2);
    await harness.publish(TOPICS.commandEvents, failed, 2);
    const last = position("position.closed", of);
    await harness.publish(TOPICS.accountEvents, last);
    await eventually(() => expect(receiver.idsAt()).toContain(last.eventId));
    const received = receiver.received.map(({ body }) => WebhookEvent.parse(JSON.parse(body)));
    const counted = received.map(({ type, data }) => `${type} ${data.accountSequence}`);
    // The account's first event was not subscribed. Command events have no account sequence.
    expect(counted.toSorted()).toEqual(["command.failed null", "position.closed 2", "position.closed 3"]);
  });

  it("gets an account's transactions numbered in ledger order, even if the webhooks service receives them in another order", async () => {
    await harness.createEndpoint({ url: receiver.url });
    const of = owner();
    // A publisher that lost the reply to its commit publishes the first transaction later.
    for (const sequence of [2, 3, 1]) {
      const event = transaction(of);
      Object.assign(event.transaction, { sequence, balanceAfter: 100 * sequence });
      await harness.publish(TOPICS.financeEvents, event);
    }
    await eventually(() => expect(receiver.received).toHaveLength(3));
    const received = receiver.received.map(({ body }) => WebhookEvent.parse(JSON.parse(body)).data);
    const balances = received
      .toSorted((a, b) => (a.accountSequence ?? 0) - (b.accountSequence ?? 0))
      .map((data) => ("balanceAfter" in data ? data.balanceAfter : null));
    expect(balances).toEqual([100, 200, 300]);
  });

  it("verifies with both secrets for 24 h after a rotation, then with the new secret only", async () => {
    const { id, secret } = await harness.createEndpoint({ url: receiver.url });
    const answer = await harness.call("POST", `/webhooks/${id}/rotate-secret`);
    const fresh = (answer.body as { secret: string }).secret;
    expect(fresh).not.toBe(secret);
    harness.clock.advance(24 * HOUR_MS - MINUTE_MS);
    await harness.call("POST", `/webhooks/${id}/test`);
    await eventually(() => expect(receiver.received).toHaveLength(1));
    for (const key of [fresh, secret]) verified(key, receiver.received[0] ?? expect.fail(), now());
    harness.clock.advance(MINUTE_MS);
    await harness.call("POST", `/webhooks/${id}/test`);
    await eventually(() => expect(receiver.received).toHaveLength(2));
    verified(fresh, receiver.received[1] ?? expect.fail(), now());
    expect(() => verified(secret, receiver.received[1] ?? expect.fail(), now())).toThrow();
  });
});

describe("a delivery", () => {
  it("answered 500 three times and then 200 follows the schedule, with the same id and new signatures", async () => {
    receiver.answer = status(500);
    const { id, secret, eventId } = await tested();
    for (const [index, delayMs] of [5 * SECOND_MS, 5 * MINUTE_MS, 30 * MINUTE_MS].entries()) {
      const delivery = await harness.attempted(id, index + 1);
      expect(delivery).toMatchObject({ status: "pending", eventId });
      expect(Date.parse(delivery.nextAttemptAt ?? "")).toBe(now() + delayMs);
      if (index === 2) receiver.answer = ok;
      harness.clock.advance(delayMs);
    }
    const delivery = await harness.attempted(id, 4);
    expect(delivery).toMatchObject({ status: "succeeded", nextAttemptAt: null });
    expect(delivery.attempts.map((attempt) => attempt.status)).toEqual([500, 500, 500, 200]);
    expect(delivery.attempts.at(-1)).toMatchObject({ number: 4, error: null, replyStart: "thanks" });
    expect(receiver.idsAt()).toEqual([eventId, eventId, eventId, eventId]);
    expect(new Set(receiver.received.map(({ headers }) => headers["webhook-signature"])).size).toBe(4);
    verified(secret, receiver.received[3] ?? expect.fail(), now());
  });

  it("answered 301 has a failed attempt, and the redirect is not followed", async () => {
    const elsewhere = await Receiver.start();
    receiver.answer = status(301, { location: elsewhere.url });
    const { id } = await tested();
    const delivery = await harness.attempted(id, 1);
    expect(delivery.attempts[0]).toMatchObject({ status: 301, error: "answered 301: redirects are not followed" });
    expect(delivery.status).toBe("pending");
    expect(elsewhere.connections).toBe(0);
    await elsewhere.stop();
  });

  it("answered 410 disables the endpoint and cancels its waiting deliveries", async () => {
    receiver.answer = status(500);
    const { id } = await tested();
    await harness.attempted(id, 1);
    receiver.answer = status(410);
    await harness.call("POST", `/webhooks/${id}/test`);
    await eventually(async () => {
      expect(await harness.endpoint(id)).toMatchObject({ status: "disabled", disabledReason: "gone" });
      const statuses = (await harness.deliveries(id)).map((delivery) => delivery.status);
      expect(statuses.toSorted()).toEqual(["cancelled", "failed"]);
    });
    expect((await harness.call("POST", `/webhooks/${id}/test`)).code).toBe("ENDPOINT_DISABLED");
  });

  it("answered 410 by a former URL does not disable the endpoint", async () => {
    let answer = (): void => expect.fail("no delivery was received");
    receiver.answer = (...request) => (answer = () => status(410)(...request));
    const { id } = await tested();
    await eventually(() => expect(receiver.received).toHaveLength(1));
    const next = await Receiver.start();
    await harness.call("PATCH", `/webhooks/${id}`, { url: next.url });
    answer();
    await harness.attempted(id, 1);
    await harness.call("POST", `/webhooks/${id}/test`);
    await eventually(() => expect(next.received).toHaveLength(1));
    expect(await harness.endpoint(id)).toMatchObject({ status: "enabled" });
    await next.stop();
  });

  it("answered 429 with Retry-After pauses all deliveries to that endpoint", async () => {
    receiver.answer = status(429, { "retry-after": "600" });
    const { id } = await tested();
    const first = await harness.attempted(id, 1);
    expect(Date.parse(first.nextAttemptAt ?? "")).toBe(now() + 600 * SECOND_MS);
    receiver.answer = ok;
    const elsewhere = await Receiver.start();
    const other = await harness.createEndpoint({ url: elsewhere.url });
    for (const waitedMs of [0, 599 * SECOND_MS]) {
      harness.clock.advance(waitedMs);
      const before = elsewhere.received.length;
      await harness.call("POST", `/webhooks/${id}/test`);
      await harness.call("POST", `/webhooks/${other.id}/test`);
      await eventually(() => expect(elsewhere.received).toHaveLength(before + 1));
      expect(receiver.received).toHaveLength(1);
    }
    harness.clock.advance(SECOND_MS);
    await eventually(() => expect(receiver.received).toHaveLength(4));
    await elsewhere.stop();
  });

  it("answered 503 with Retry-After does not pause the deliveries to the endpoint's next URL", async () => {
    receiver.answer = status(503, { "retry-after": String(24 * 3_600) });
    const { id } = await tested();
    await harness.attempted(id, 1);
    const next = await Receiver.start();
    await harness.call("PATCH", `/webhooks/${id}`, { url: next.url });
    await harness.call("POST", `/webhooks/${id}/test`);
    await eventually(() => expect(next.received).toHaveLength(1));
    await next.stop();
  });

  it("without a response has a failed attempt at the timeout; an incomplete response counts by its status", async () => {
    receiver.answer = hang;
    const { id } = await tested();
    const delivery = await harness.attempted(id, 1);
    expect(delivery.attempts[0]).toMatchObject({ status: null, error: "the receiver did not answer in time" });
    expect(delivery.attempts[0]?.durationMs).toBeGreaterThanOrEqual(TIMEOUT_MS - 50);
    receiver.answer = (response) => response.writeHead(500).write("beginning");
    harness.clock.advance(5 * SECOND_MS);
    const again = await harness.attempted(id, 2);
    expect(again.attempts[1]).toMatchObject({ status: 500, replyStart: "beginning" });
  });

  it("answered with 100 MB succeeds, and only the first part of the answer is read", async () => {
    const size = 100 * MIB;
    let written = 0;
    receiver.answer = (response) => {
      const chunk = Buffer.alloc(64 * 1_024, "x\u0000");
      response.writeHead(200, { "content-length": String(size) });
      const write = (): void => {
        while (written < size && !response.destroyed) {
          written += chunk.length;
          if (!response.write(chunk)) break;
        }
      };
      response.on("drain", write);
      write();
    };
    const { id } = await tested();
    const delivery = await harness.attempted(id, 1);
    expect(delivery.status).toBe("succeeded");
    expect(delivery.attempts[0]?.replyStart.startsWith("x\\u0000x\\u0000")).toBe(true);
    // The receiver wrote little more than the socket buffers hold.
    expect(written).toBeLessThan(20 * MIB);
  });

  it("to a stopped receiver has a failed attempt with the reason", async () => {
    const { port } = receiver;
    await receiver.stop();
    const { id } = await tested();
    const delivery = await harness.attempted(id, 1);
    expect(delivery.attempts[0]?.error).toBe(`connect ECONNREFUSED 127.0.0.1:${port}`);
    receiver = await Receiver.start();
  });

  it("can be redelivered with the same id; an unknown delivery and an unknown endpoint are 404", async () => {
    const { id, eventId } = await tested();
    const delivery = await harness.attempted(id, 1);
    const again = await harness.call("POST", `/webhooks/${id}/deliveries/${delivery.id}/redeliver`);
    expect(again).toMatchObject({ status: 202, body: { delivery: { id: delivery.id, status: "pending" } } });
    expect(await harness.attempted(id, 2)).toMatchObject({ status: "succeeded" });
    expect(receiver.idsAt()).toEqual([eventId, eventId]);
    const unknown = await harness.call("POST", `/webhooks/${id}/deliveries/${randomUUID()}/redeliver`);
    expect(unknown).toMatchObject({ status: 404, code: "DELIVERY_NOT_FOUND" });
    const nobody = await harness.call("POST", `/webhooks/${randomUUID()}/deliveries/${delivery.id}/redeliver`);
    expect(nobody).toMatchObject({ status: 404, code: "ENDPOINT_NOT_FOUND" });
  });
});

describe("an endpoint", () => {
  it("is disabled after five days of failures, not before", async () => {
    receiver.answer = status(500);
    const failingSince = new Date(now()).toISOString();
    const { id } = await tested();
    await harness.attempted(id, 1);
    harness.clock.advance(5 * 24 * HOUR_MS - MINUTE_MS);
    await harness.attempted(id, 2);
    expect(await harness.endpoint(id)).toMatchObject({ status: "enabled", failingSince });
    harness.clock.advance(5 * MINUTE_MS);
    await harness.attempted(id, 3);
    await eventually(async () =>
      expect(await harness.endpoint(id)).toMatchObject({ status: "disabled", disabledReason: "failing" }),
    );
    await eventually(async () => expect((await harness.deliveries(id))[0]?.status).toBe("cancelled"));
    await harness.call("PATCH", `/webhooks/${id}`, { status: "enabled" });
    receiver.answer = ok;
    // The endpoint is paused after three consecutive failures.
    harness.clock.advance(MINUTE_MS);
    await harness.call("POST", `/webhooks/${id}/test`);
    await eventually(async () => expect(await harness.deliveries(id, "?status=succeeded")).toHaveLength(1));
  });

  it("with one success within five days stays enabled", async () => {
    receiver.answer = status(500);
    const { id } = await tested();
    await harness.attempted(id, 1);
    receiver.answer = ok;
    harness.clock.advance(3 * 24 * HOUR_MS);
    await harness.attempted(id, 2);
    expect(await harness.endpoint(id)).toMatchObject({ failingSince: null });
    receiver.answer = status(500);
    await harness.call("POST", `/webhooks/${id}/test`);
    await eventually(async () =>
      expect((await harness.deliveries(id, "?status=pending"))[0]?.attempts).toHaveLength(1),
    );
    harness.clock.advance(3 * 24 * HOUR_MS);
    await eventually(async () =>
      expect((await harness.deliveries(id, "?status=pending"))[0]?.attempts).toHaveLength(2),
    );
    expect(await harness.endpoint(id)).toMatchObject({ status: "enabled" });
  });

  it("that hangs delays no other endpoint", async () => {
    receiver.answer = (response, { path }) => (path === "/hanging" ? hang() : ok(response));
    const base = receiver.url.replace("/hook", "");
    await harness.createEndpoint({ url: `${base}/hanging` });
    for (const name of ["a", "b", "c"]) await harness.createEndpoint({ url: `${base}/${name}` });
    const of = owner();
    const startedMs = performance.now();
    const published = Array.from({ length: 60 }, () => position("position.closed", of));
    await Promise.all(published.map((event) => harness.publish(TOPICS.accountEvents, event)));
    await eventually(
      () => {
        for (const name of ["a", "b", "c"]) expect(receiver.idsAt(`/${name}`)).toHaveLength(published.length);
      },
      { timeoutMs: 20_000 },
    );
    // First, eight attempts run concurrently. After these have failed, one attempt runs at a time.
    const afterwards = Math.ceil((performance.now() - startedMs) / TIMEOUT_MS);
    expect(receiver.idsAt("/hanging").length).toBeLessThanOrEqual(8 + afterwards);
    const expected = published.map(({ eventId }) => eventId).toSorted();
    expect(receiver.idsAt("/a").toSorted()).toEqual(expected);
  });

  it("whose name is never resolved delays no other endpoint, even if many endpoints have such names", async () => {
    const silent = Array.from({ length: 16 }, (_, index) => `http://hooks-${index}.silent.example/hook`);
    for (const url of silent) await harness.createEndpoint({ url });
    for (const host of ["localhost", NAME])
      await harness.createEndpoint({ url: `http://${host}:${receiver.port}/${host}` });
    const of = owner();
    const published = Array.from({ length: 20 }, () => position("position.closed", of));
    await Promise.all(published.map((event) => harness.publish(TOPICS.accountEvents, event)));
    // If look-ups blocked libuv's threads, this would take longer than the deadline.
    await eventually(
      () => {
        for (const host of ["localhost", NAME]) expect(receiver.idsAt(`/${host}`)).toHaveLength(published.length);
      },
      { timeoutMs: RESOLVE_TIMEOUT_MS },
    );
    expect(nameServer.asked.filter((name) => name.endsWith("silent.example")).length).toBeGreaterThanOrEqual(16);
  });

  it("gets all events of a replayed period, with the same ids, including events never sent to it", async () => {
    const of = owner();
    const before = position("position.closed", of);
    await harness.publish(TOPICS.accountEvents, before);
    await eventually(async () => expect(JSON.stringify(await harness.events("?limit=1000"))).toContain(before.eventId));
    harness.clock.advance(HOUR_MS);
    const since = new Date(now()).toISOString();
    const published = [position("position.opened", of), position("position.closed", of)];
    for (const event of published) await harness.publish(TOPICS.accountEvents, event);
    await eventually(async () =>
      expect(JSON.stringify(await harness.events("?limit=1000"))).toContain(published[1]?.eventId),
    );
    const { id } = await harness.createEndpoint({ url: receiver.url });
    const ids = published.map(({ eventId }) => eventId).toSorted();
    for (const times of [1, 2]) {
      const answer = await harness.call("POST", `/webhooks/${id}/replay`, { since });
      expect(answer).toMatchObject({ status: 202, body: { events: 2 } });
      await eventually(() => expect(receiver.received).toHaveLength(2 * times));
      await eventually(async () => expect(await harness.deliveries(id, "?status=succeeded")).toHaveLength(2));
    }
    expect(new Set(receiver.idsAt())).toEqual(new Set(ids));
    const one = await harness.call("POST", `/webhooks/${id}/replay`, { since, kinds: ["position.opened"] });
    expect(one.body).toEqual({ events: 1 });
    await eventually(() => expect(receiver.received).toHaveLength(5));
  });
});
