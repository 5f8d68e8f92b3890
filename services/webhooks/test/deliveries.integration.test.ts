/** What a receiver gets, however it answers. */
import { randomUUID } from "node:crypto";

import { TOPICS, WebhookEvent } from "@kapi/contracts";
import { eventually } from "@kapi/testkit";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";

import { RESOLVE_TIMEOUT_MS } from "../src/outbound/http/names.ts";
import { account, anyOwner, commandEvent, lowBalance, position, transaction } from "./facts.ts";
import { NameServer } from "./name-server.ts";
import { hang, ok, Receiver, status, verified } from "./receiver.ts";
import { World } from "./world.ts";

const TIMEOUT_MS = 700;
const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const MIB = 1_024 * 1_024;

let world: World;
let receiver: Receiver;
/** Silent about every name but this one. */
let nameServer: NameServer;
const NAME = "hooks.receiver.example";

beforeAll(async () => {
  nameServer = await NameServer.start((name) => (name === NAME ? { address: "127.0.0.1" } : "silent"));
  const env = { WEBHOOK_TIMEOUT_MS: String(TIMEOUT_MS), WEBHOOK_CONCURRENCY: "40" };
  world = await World.start(env, { nameServers: [nameServer.address] });
});
afterAll(async () => {
  await world.stop();
  await nameServer.stop();
});
beforeEach(async () => {
  receiver = await Receiver.start();
});
afterEach(async () => {
  const { body } = await world.call("GET", "/webhooks");
  for (const { id } of (body as { endpoints: { id: string }[] }).endpoints)
    await world.call("DELETE", `/webhooks/${id}`);
  await receiver.stop();
});

const owner = () => ({ ...anyOwner(), organizationId: world.organizationId });
const now = (): number => world.clock.nowMs();

/** An endpoint to which one test event is under way. */
async function tested(): Promise<{ id: string; secret: string; eventId: string }> {
  const endpoint = await world.createEndpoint({ url: receiver.url });
  const { status: code, body } = await world.call("POST", `/webhooks/${endpoint.id}/test`);
  expect(code).toBe(202);
  return { ...endpoint, eventId: (body as { eventId: string }).eventId };
}

describe("a receiver with the standardwebhooks package", () => {
  it("verifies every delivery of facts of all services, and not one with a changed byte", async () => {
    const { secret } = await world.createEndpoint({ url: receiver.url });
    const of = owner();
    const facts = [position("position.closed", of), account("account.password_changed", of)];
    await world.publish(TOPICS.accountEvents, facts[0] ?? {}, 3);
    await world.publish(TOPICS.accountEvents, facts[1] ?? {});
    const money = transaction(of);
    await world.publish(TOPICS.financeEvents, money);
    const low = lowBalance(world.organizationId);
    await world.publish(TOPICS.creditsEvents, low);
    await eventually(() => expect(receiver.received).toHaveLength(4));
    const events = receiver.received.map((received) => WebhookEvent.parse(verified(secret, received, now())));
    const ids = [...facts, money, low].map(({ eventId }) => eventId);
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

  it("gets each event once, whatever Kafka repeats, and only what it asked for", async () => {
    const of = owner();
    const asked = { kinds: ["position.closed", "command.failed"] as const, serverIds: [of.serverId] };
    await world.createEndpoint({ url: receiver.url, kinds: [...asked.kinds], serverIds: asked.serverIds });
    const closed = position("position.closed", of);
    await world.publish(TOPICS.accountEvents, position("position.opened", of));
    await world.publish(TOPICS.accountEvents, position("position.closed", owner()));
    await world.publish(TOPICS.accountEvents, closed, 20);
    await world.publish(TOPICS.commandEvents, commandEvent({ status: "succeeded" }, of));
    const failed = commandEvent({ status: "failed", errorCode: "INSUFFICIENT_FUNDS" }, of);
    await world.publish(TOPICS.commandEvents, failed, 5);
    await eventually(() => expect(receiver.received).toHaveLength(2));
    await world.publish(TOPICS.accountEvents, closed, 2);
    await world.publish(TOPICS.commandEvents, failed, 2);
    const last = position("position.closed", of);
    await world.publish(TOPICS.accountEvents, last);
    await eventually(() => expect(receiver.idsAt()).toContain(last.eventId));
    const told = receiver.received.map(({ body }) => WebhookEvent.parse(JSON.parse(body)));
    const counted = told.map(({ type, data }) => `${type} ${data.accountSequence}`);
    // The account's first event was one that it did not ask for; ends of commands are not counted.
    expect(counted.toSorted()).toEqual(["command.failed null", "position.closed 2", "position.closed 3"]);
  });

  it("gets the transactions of an account numbered in the order of the ledger, whatever order they come in", async () => {
    await world.createEndpoint({ url: receiver.url });
    const of = owner();
    // A publisher that lost the reply to its commit leaves the first to a later look at its outbox.
    for (const sequence of [2, 3, 1]) {
      const fact = transaction(of);
      Object.assign(fact.transaction, { sequence, balanceAfter: 100 * sequence });
      await world.publish(TOPICS.financeEvents, fact);
    }
    await eventually(() => expect(receiver.received).toHaveLength(3));
    const told = receiver.received.map(({ body }) => WebhookEvent.parse(JSON.parse(body)).data);
    const balances = told
      .toSorted((a, b) => (a.accountSequence ?? 0) - (b.accountSequence ?? 0))
      .map((data) => ("balanceAfter" in data ? data.balanceAfter : null));
    expect(balances).toEqual([100, 200, 300]);
  });

  it("verifies with the new and the old secret for 24 h after a rotation, and with the new one alone after that", async () => {
    const { id, secret } = await world.createEndpoint({ url: receiver.url });
    const answer = await world.call("POST", `/webhooks/${id}/rotate-secret`);
    const fresh = (answer.body as { secret: string }).secret;
    expect(fresh).not.toBe(secret);
    world.clock.advance(24 * HOUR_MS - MINUTE_MS);
    await world.call("POST", `/webhooks/${id}/test`);
    await eventually(() => expect(receiver.received).toHaveLength(1));
    for (const key of [fresh, secret]) verified(key, receiver.received[0] ?? expect.fail(), now());
    world.clock.advance(MINUTE_MS);
    await world.call("POST", `/webhooks/${id}/test`);
    await eventually(() => expect(receiver.received).toHaveLength(2));
    verified(fresh, receiver.received[1] ?? expect.fail(), now());
    expect(() => verified(secret, receiver.received[1] ?? expect.fail(), now())).toThrow();
  });
});

describe("a delivery", () => {
  it("that is answered 500 three times and then 200 is sent by the schedule, with the same id and a new signature", async () => {
    receiver.answer = status(500);
    const { id, secret, eventId } = await tested();
    for (const [index, restMs] of [5 * SECOND_MS, 5 * MINUTE_MS, 30 * MINUTE_MS].entries()) {
      const delivery = await world.attempted(id, index + 1);
      expect(delivery).toMatchObject({ status: "pending", eventId });
      expect(Date.parse(delivery.nextAttemptAt ?? "")).toBe(now() + restMs);
      if (index === 2) receiver.answer = ok;
      world.clock.advance(restMs);
    }
    const delivery = await world.attempted(id, 4);
    expect(delivery).toMatchObject({ status: "succeeded", nextAttemptAt: null });
    expect(delivery.attempts.map((attempt) => attempt.status)).toEqual([500, 500, 500, 200]);
    expect(delivery.attempts.at(-1)).toMatchObject({ number: 4, error: null, replyStart: "thanks" });
    expect(receiver.idsAt()).toEqual([eventId, eventId, eventId, eventId]);
    expect(new Set(receiver.received.map(({ headers }) => headers["webhook-signature"])).size).toBe(4);
    verified(secret, receiver.received[3] ?? expect.fail(), now());
  });

  it("that is answered 301 has failed, and nobody goes where it points", async () => {
    const elsewhere = await Receiver.start();
    receiver.answer = status(301, { location: elsewhere.url });
    const { id } = await tested();
    const delivery = await world.attempted(id, 1);
    expect(delivery.attempts[0]).toMatchObject({ status: 301, error: "answered 301: redirects are not followed" });
    expect(delivery.status).toBe("pending");
    expect(elsewhere.connections).toBe(0);
    await elsewhere.stop();
  });

  it("that is answered 410 is the last one: the endpoint is disabled, and what waited is cancelled", async () => {
    receiver.answer = status(500);
    const { id } = await tested();
    await world.attempted(id, 1);
    receiver.answer = status(410);
    await world.call("POST", `/webhooks/${id}/test`);
    await eventually(async () => {
      expect(await world.endpoint(id)).toMatchObject({ status: "disabled", disabledReason: "gone" });
      const statuses = (await world.deliveries(id)).map((delivery) => delivery.status);
      expect(statuses.toSorted()).toEqual(["cancelled", "failed"]);
    });
    expect((await world.call("POST", `/webhooks/${id}/test`)).code).toBe("ENDPOINT_DISABLED");
  });

  it("that is answered 429 with Retry-After waits so long, and with it all others to that endpoint", async () => {
    receiver.answer = status(429, { "retry-after": "600" });
    const { id } = await tested();
    const first = await world.attempted(id, 1);
    expect(Date.parse(first.nextAttemptAt ?? "")).toBe(now() + 600 * SECOND_MS);
    receiver.answer = ok;
    const elsewhere = await Receiver.start();
    const other = await world.createEndpoint({ url: elsewhere.url });
    for (const waitedMs of [0, 599 * SECOND_MS]) {
      world.clock.advance(waitedMs);
      const before = elsewhere.received.length;
      await world.call("POST", `/webhooks/${id}/test`);
      await world.call("POST", `/webhooks/${other.id}/test`);
      await eventually(() => expect(elsewhere.received).toHaveLength(before + 1));
      expect(receiver.received).toHaveLength(1);
    }
    world.clock.advance(SECOND_MS);
    await eventually(() => expect(receiver.received).toHaveLength(4));
    await elsewhere.stop();
  });

  it("that is not answered has failed when its time is over, also where only the body never ends", async () => {
    receiver.answer = hang;
    const { id } = await tested();
    const delivery = await world.attempted(id, 1);
    expect(delivery.attempts[0]).toMatchObject({ status: null, error: "it did not answer in time" });
    expect(delivery.attempts[0]?.durationMs).toBeGreaterThanOrEqual(TIMEOUT_MS - 50);
    receiver.answer = (response) => response.writeHead(500).write("beginning");
    world.clock.advance(5 * SECOND_MS);
    const again = await world.attempted(id, 2);
    expect(again.attempts[1]).toMatchObject({ status: 500, replyStart: "beginning" });
  });

  it("that is answered with 100 MB costs no more memory than one with 64 KiB", async () => {
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
    const delivery = await world.attempted(id, 1);
    expect(delivery.status).toBe("succeeded");
    expect(delivery.attempts[0]?.replyStart.startsWith("x\\u0000x\\u0000")).toBe(true);
    // What lies in the buffers of both sockets is all that was sent.
    expect(written).toBeLessThan(20 * MIB);
  });

  it("to a receiver that is not there has failed, and says why", async () => {
    const { port } = receiver;
    await receiver.stop();
    const { id } = await tested();
    const delivery = await world.attempted(id, 1);
    expect(delivery.attempts[0]?.error).toBe(`connect ECONNREFUSED 127.0.0.1:${port}`);
    receiver = await Receiver.start();
  });

  it("can be sent again by its owner, with the same id; one of another endpoint or organization cannot", async () => {
    const { id, eventId } = await tested();
    const delivery = await world.attempted(id, 1);
    const again = await world.call("POST", `/webhooks/${id}/deliveries/${delivery.id}/redeliver`);
    expect(again).toMatchObject({ status: 202, body: { delivery: { id: delivery.id, status: "pending" } } });
    expect(await world.attempted(id, 2)).toMatchObject({ status: "succeeded" });
    expect(receiver.idsAt()).toEqual([eventId, eventId]);
    const unknown = await world.call("POST", `/webhooks/${id}/deliveries/${randomUUID()}/redeliver`);
    expect(unknown).toMatchObject({ status: 404, code: "DELIVERY_NOT_FOUND" });
    const nobody = await world.call("POST", `/webhooks/${randomUUID()}/deliveries/${delivery.id}/redeliver`);
    expect(nobody).toMatchObject({ status: 404, code: "ENDPOINT_NOT_FOUND" });
  });
});

describe("an endpoint", () => {
  it("that only failed for five days is disabled, and not before", async () => {
    receiver.answer = status(500);
    const failingSince = new Date(now()).toISOString();
    const { id } = await tested();
    await world.attempted(id, 1);
    world.clock.advance(5 * 24 * HOUR_MS - MINUTE_MS);
    await world.attempted(id, 2);
    expect(await world.endpoint(id)).toMatchObject({ status: "enabled", failingSince });
    world.clock.advance(5 * MINUTE_MS);
    await world.attempted(id, 3);
    await eventually(async () =>
      expect(await world.endpoint(id)).toMatchObject({ status: "disabled", disabledReason: "failing" }),
    );
    await eventually(async () => expect((await world.deliveries(id))[0]?.status).toBe("cancelled"));
    await world.call("PATCH", `/webhooks/${id}`, { status: "enabled" });
    receiver.answer = ok;
    // It has failed three times in a row, and rests.
    world.clock.advance(MINUTE_MS);
    await world.call("POST", `/webhooks/${id}/test`);
    await eventually(async () => expect(await world.deliveries(id, "?status=succeeded")).toHaveLength(1));
  });

  it("of which one delivery succeeded within the five days stays", async () => {
    receiver.answer = status(500);
    const { id } = await tested();
    await world.attempted(id, 1);
    receiver.answer = ok;
    world.clock.advance(3 * 24 * HOUR_MS);
    await world.attempted(id, 2);
    expect(await world.endpoint(id)).toMatchObject({ failingSince: null });
    receiver.answer = status(500);
    await world.call("POST", `/webhooks/${id}/test`);
    await eventually(async () => expect((await world.deliveries(id, "?status=pending"))[0]?.attempts).toHaveLength(1));
    world.clock.advance(3 * 24 * HOUR_MS);
    await eventually(async () => expect((await world.deliveries(id, "?status=pending"))[0]?.attempts).toHaveLength(2));
    expect(await world.endpoint(id)).toMatchObject({ status: "enabled" });
  });

  it("that hangs delays only itself", async () => {
    receiver.answer = (response, { path }) => (path === "/hanging" ? hang() : ok(response));
    const base = receiver.url.replace("/hook", "");
    await world.createEndpoint({ url: `${base}/hanging` });
    for (const name of ["a", "b", "c"]) await world.createEndpoint({ url: `${base}/${name}` });
    const of = owner();
    const begunMs = performance.now();
    const facts = Array.from({ length: 60 }, () => position("position.closed", of));
    await Promise.all(facts.map((fact) => world.publish(TOPICS.accountEvents, fact)));
    await eventually(
      () => {
        for (const name of ["a", "b", "c"]) expect(receiver.idsAt(`/${name}`)).toHaveLength(facts.length);
      },
      { timeoutMs: 20_000 },
    );
    // Eight at once, and one after the other once those have failed.
    const afterwards = Math.ceil((performance.now() - begunMs) / TIMEOUT_MS);
    expect(receiver.idsAt("/hanging").length).toBeLessThanOrEqual(8 + afterwards);
    const expected = facts.map(({ eventId }) => eventId).toSorted();
    expect(receiver.idsAt("/a").toSorted()).toEqual(expected);
  });

  it("whose name server never answers delays only itself, however many of them there are", async () => {
    const silent = Array.from({ length: 16 }, (_, index) => `http://hooks-${index}.silent.example/hook`);
    for (const url of silent) await world.createEndpoint({ url });
    for (const host of ["localhost", NAME])
      await world.createEndpoint({ url: `http://${host}:${receiver.port}/${host}` });
    const of = owner();
    const facts = Array.from({ length: 20 }, () => position("position.closed", of));
    await Promise.all(facts.map((fact) => world.publish(TOPICS.accountEvents, fact)));
    // With four of libuv's threads waiting for a name server, this took longer than its deadline.
    await eventually(
      () => {
        for (const host of ["localhost", NAME]) expect(receiver.idsAt(`/${host}`)).toHaveLength(facts.length);
      },
      { timeoutMs: RESOLVE_TIMEOUT_MS },
    );
    expect(nameServer.asked.filter((name) => name.endsWith("silent.example")).length).toBeGreaterThanOrEqual(16);
  });

  it("whose owner replays a time gets all of it again, with the same ids, and what was never sent to it", async () => {
    const of = owner();
    const before = position("position.closed", of);
    await world.publish(TOPICS.accountEvents, before);
    await eventually(async () => expect(JSON.stringify(await world.events("?limit=1000"))).toContain(before.eventId));
    world.clock.advance(HOUR_MS);
    const since = new Date(now()).toISOString();
    const facts = [position("position.opened", of), position("position.closed", of)];
    for (const fact of facts) await world.publish(TOPICS.accountEvents, fact);
    await eventually(async () =>
      expect(JSON.stringify(await world.events("?limit=1000"))).toContain(facts[1]?.eventId),
    );
    const { id } = await world.createEndpoint({ url: receiver.url });
    const ids = facts.map(({ eventId }) => eventId).toSorted();
    for (const times of [1, 2]) {
      const answer = await world.call("POST", `/webhooks/${id}/replay`, { since });
      expect(answer).toMatchObject({ status: 202, body: { events: 2 } });
      await eventually(() => expect(receiver.received).toHaveLength(2 * times));
      await eventually(async () => expect(await world.deliveries(id, "?status=succeeded")).toHaveLength(2));
    }
    expect(new Set(receiver.idsAt())).toEqual(new Set(ids));
    const one = await world.call("POST", `/webhooks/${id}/replay`, { since, kinds: ["position.opened"] });
    expect(one.body).toEqual({ events: 1 });
    await eventually(() => expect(receiver.received).toHaveLength(5));
  });
});
