/** Processes that end in the middle of a delivery. */
import { once } from "node:events";

import { TOPICS } from "@kapi/contracts";
import { eventually, onWrongClock } from "@kapi/testkit";
import { afterEach, beforeEach, expect, it } from "vitest";

import { anyOwner, position } from "./facts.ts";
import { hang, ok, Receiver, verified } from "./receiver.ts";
import { World } from "./world.ts";

const SESSION = { KAFKA_SESSION_TIMEOUT_MS: "3000" };
const QUICK = { ...SESSION, WEBHOOK_TIMEOUT_MS: "500", WEBHOOK_LEASE_MS: "2500" };

let world: World;
let receiver: Receiver;

beforeEach(async () => {
  receiver = await Receiver.start();
  world = await World.prepare();
});
afterEach(async () => {
  await world.stop();
  await receiver.stop();
});

it("a delivery whose process is killed between sending and recording is sent again by another, with the same id", async () => {
  const first = await world.spawn({ ...QUICK, FAULT_POINT: "webhooks.after-send" });
  const { id, secret } = await world.createEndpoint({ url: receiver.url });
  const gone = once(first, "exit");
  await world.publish(
    TOPICS.accountEvents,
    position("position.closed", { ...anyOwner(), organizationId: world.organizationId }),
  );
  expect(await gone).toEqual([null, "SIGKILL"]);
  expect(receiver.received).toHaveLength(1);
  // By the clock of its machine, the lease of the first process is not over for long.
  await world.spawn({ ...QUICK, ...onWrongClock("behind") });
  await eventually(() => expect(receiver.received).toHaveLength(2), { timeoutMs: 15_000 });
  expect(new Set(receiver.idsAt()).size).toBe(1);
  for (const received of receiver.received) verified(secret, received, Date.now());
  await eventually(async () =>
    expect(await world.deliveries(id)).toMatchObject([{ status: "succeeded", attempts: [{ number: 1 }] }]),
  );
});

it("a process that is told to stop gives back what it has not sent, and ends well", async () => {
  const first = await world.spawn({ ...SESSION, WEBHOOK_ENDPOINT_CONCURRENCY: "1", WEBHOOK_TIMEOUT_MS: "2000" });
  const { id } = await world.createEndpoint({ url: receiver.url });
  receiver.answer = hang;
  const owner = { ...anyOwner(), organizationId: world.organizationId };
  for (let index = 0; index < 5; index += 1)
    await world.publish(TOPICS.accountEvents, position("position.opened", owner));
  await eventually(async () => expect(await world.deliveries(id, "?status=delivering")).toHaveLength(5));
  receiver.answer = ok;
  const gone = once(first, "exit");
  first.kill("SIGTERM");
  expect(await gone).toEqual([0, null]);
  const before = receiver.received.length;
  await world.spawn(QUICK);
  // Those that waited were given back: nobody has to wait for the end of a lease.
  await eventually(() => expect(receiver.received.length).toBeGreaterThanOrEqual(before + 4), { timeoutMs: 5_000 });
});

it("two processes side by side send each event once to each endpoint", async () => {
  await world.spawn(SESSION);
  await world.spawn(SESSION);
  const base = receiver.url.replace("/hook", "");
  await Promise.all(["a", "b", "c"].map((name) => world.createEndpoint({ url: `${base}/${name}` })));
  const owner = { ...anyOwner(), organizationId: world.organizationId };
  const facts = Array.from({ length: 300 }, () => position("position.opened", owner));
  await Promise.all(facts.map((fact) => world.publish(TOPICS.accountEvents, fact, 2, fact.eventId)));
  const expected = facts.map(({ eventId }) => eventId).toSorted();
  await eventually(() => expect(receiver.received.length).toBeGreaterThanOrEqual(900), { timeoutMs: 20_000 });
  // What one of them would send twice is sent before this.
  const last = position("position.closed", owner);
  await world.publish(TOPICS.accountEvents, last);
  for (const name of ["/a", "/b", "/c"]) {
    await eventually(() => expect(receiver.idsAt(name).toSorted()).toEqual([...expected, last.eventId].toSorted()));
  }
});
