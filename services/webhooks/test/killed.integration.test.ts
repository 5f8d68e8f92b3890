/** Processes that stop or are killed during a delivery. */
import { once } from "node:events";

import { TOPICS } from "@kapi/contracts";
import { eventually, onWrongClock } from "@kapi/testkit";
import { afterEach, beforeEach, expect, it } from "vitest";

import { anyOwner, position } from "./event-messages.ts";
import { hang, ok, Receiver, verified } from "./receiver.ts";
import { Harness } from "./harness.ts";

const SESSION = { KAFKA_SESSION_TIMEOUT_MS: "3000" };
const QUICK = { ...SESSION, WEBHOOK_TIMEOUT_MS: "500", WEBHOOK_LEASE_MS: "2500" };

let harness: Harness;
let receiver: Receiver;

beforeEach(async () => {
  receiver = await Receiver.start();
  harness = await Harness.prepare();
});
afterEach(async () => {
  await harness.stop();
  await receiver.stop();
});

it("a delivery whose process is killed between sending and recording is sent again with the same id", async () => {
  const first = await harness.spawn({ ...QUICK, FAULT_POINT: "webhooks.after-send" });
  const { id, secret } = await harness.createEndpoint({ url: receiver.url });
  const exited = once(first, "exit");
  await harness.publish(
    TOPICS.accountEvents,
    position("position.closed", { ...anyOwner(), organizationId: harness.organizationId }),
  );
  expect(await exited).toEqual([null, "SIGKILL"]);
  expect(receiver.received).toHaveLength(1);
  // By the clock of the second process, the lease of the first process is far from expired. Only
  // the clock of the database counts.
  await harness.spawn({ ...QUICK, ...onWrongClock("behind") });
  await eventually(() => expect(receiver.received).toHaveLength(2), { timeoutMs: 15_000 });
  expect(new Set(receiver.idsAt()).size).toBe(1);
  for (const received of receiver.received) verified(secret, received, Date.now());
  await eventually(async () =>
    expect(await harness.deliveries(id)).toMatchObject([{ status: "succeeded", attempts: [{ number: 1 }] }]),
  );
});

it("a process that receives SIGTERM releases unsent deliveries and exits with 0", async () => {
  const first = await harness.spawn({ ...SESSION, WEBHOOK_ENDPOINT_CONCURRENCY: "1", WEBHOOK_TIMEOUT_MS: "2000" });
  const { id } = await harness.createEndpoint({ url: receiver.url });
  receiver.answer = hang;
  const owner = { ...anyOwner(), organizationId: harness.organizationId };
  for (let index = 0; index < 5; index += 1)
    await harness.publish(TOPICS.accountEvents, position("position.opened", owner));
  await eventually(async () => expect(await harness.deliveries(id, "?status=delivering")).toHaveLength(5));
  receiver.answer = ok;
  const exited = once(first, "exit");
  first.kill("SIGTERM");
  expect(await exited).toEqual([0, null]);
  const before = receiver.received.length;
  await harness.spawn(QUICK);
  // Waiting deliveries were released: no lease has to expire.
  await eventually(() => expect(receiver.received.length).toBeGreaterThanOrEqual(before + 4), { timeoutMs: 5_000 });
});

it("two processes send each event once to each endpoint", async () => {
  await harness.spawn(SESSION);
  await harness.spawn(SESSION);
  const base = receiver.url.replace("/hook", "");
  const names = ["/a", "/b", "/c"];
  const endpoints = await Promise.all(names.map((name) => harness.createEndpoint({ url: `${base}${name}` })));
  const owner = { ...anyOwner(), organizationId: harness.organizationId };
  const published = Array.from({ length: 300 }, () => position("position.opened", owner));
  await Promise.all(published.map((event) => harness.publish(TOPICS.accountEvents, event, 2, event.eventId)));
  const expected = published.map(({ eventId }) => eventId).toSorted();
  await eventually(() => expect(receiver.received.length).toBeGreaterThanOrEqual(900), { timeoutMs: 20_000 });
  for (const { id } of endpoints) {
    await eventually(async () => {
      for (const status of ["pending", "delivering"])
        expect(await harness.deliveries(id, `?status=${status}`)).toEqual([]);
    });
  }
  // Every delivery is final now, so no other attempt follows.
  for (const name of names) expect(receiver.idsAt(name).toSorted()).toEqual(expected);
});
