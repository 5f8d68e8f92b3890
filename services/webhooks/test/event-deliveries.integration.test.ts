/** Deliveries found by their event, and by the account of their event. */
import { randomUUID } from "node:crypto";

import { AccountDeliveriesAnswer, EventDeliveriesAnswer, TOPICS } from "@kapi/contracts";
import { eventually } from "@kapi/testkit";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { account, anyOwner, position } from "./event-messages.ts";
import { Harness } from "./harness.ts";
import { Receiver, status } from "./receiver.ts";

let harness: Harness;
let receiver: Receiver;
beforeAll(async () => {
  harness = await Harness.start();
  receiver = await Receiver.start();
});
afterAll(async () => {
  await harness.stop();
  await receiver.stop();
});

async function eventOf(eventId: string): Promise<EventDeliveriesAnswer["event"]> {
  return EventDeliveriesAnswer.parse((await harness.call("GET", `/events/${eventId}`)).body).event;
}

async function eventsOf(
  { serverId, accountNumber }: { readonly serverId: string; readonly accountNumber: string },
  query = "",
): Promise<AccountDeliveriesAnswer> {
  const path = `/servers/${serverId}/accounts/${accountNumber}/deliveries${query}`;
  return AccountDeliveriesAnswer.parse((await harness.call("GET", path)).body);
}

describe("an event", () => {
  it("that the receiver answered with 500 shows its payload and each attempt, and can be redelivered", async () => {
    const owner = { ...anyOwner(), organizationId: harness.organizationId };
    const failing = await harness.createEndpoint({ url: `${receiver.url}/failing` });
    const other = await harness.createEndpoint({ url: `${receiver.url}/other`, kinds: ["account.created"] });
    receiver.answer = status(500);
    const closed = position("position.closed", owner);
    await harness.publish(TOPICS.accountEvents, closed);
    await eventually(async () => expect((await harness.deliveries(failing.id))[0]?.attempts).toHaveLength(1));
    const event = await eventOf(closed.eventId);
    expect(event).toMatchObject({
      id: closed.eventId,
      type: "position.closed",
      serverId: owner.serverId,
      accountNumber: owner.accountNumber,
      deliveries: [
        { endpointId: failing.id, url: `${receiver.url}/failing`, status: "pending", attempts: [{ status: 500 }] },
      ],
    });
    expect(event.payload).toBe(receiver.received[0]?.body);
    receiver.answer = status(200);
    const [delivery] = event.deliveries;
    await harness.call("POST", `/webhooks/${failing.id}/deliveries/${delivery?.id}/redeliver`);
    await eventually(async () =>
      expect((await eventOf(closed.eventId)).deliveries).toMatchObject([{ status: "succeeded" }]),
    );
    expect((await eventOf(closed.eventId)).deliveries[0]?.attempts).toHaveLength(2);
    expect(event.deliveries.map(({ endpointId }) => endpointId)).not.toContain(other.id);
  });

  it("of another organization is 404, as are an unknown event and a malformed event id", async () => {
    const foreign = account("account.enabled");
    await harness.publish(TOPICS.accountEvents, foreign);
    const own = account("account.enabled", { organizationId: harness.organizationId });
    await harness.publish(TOPICS.accountEvents, own);
    await eventually(async () => expect((await harness.call("GET", `/events/${own.eventId}`)).status).toBe(200));
    for (const id of [foreign.eventId, randomUUID(), "nothing"]) {
      expect([id, (await harness.call("GET", `/events/${id}`)).status]).toEqual([id, 404]);
    }
  });
});

describe("the list of an account's events", () => {
  it("has them newest first and page by page, each with its deliveries, and no event of another account", async () => {
    receiver.answer = status(200);
    const owner = { ...anyOwner(), organizationId: harness.organizationId };
    const sent = [0, 1, 2].map(() => account("account.updated", owner));
    for (const event of sent) await harness.publish(TOPICS.accountEvents, event);
    await harness.publish(TOPICS.accountEvents, account("account.updated", { ...owner, accountNumber: "99999" }));
    await eventually(async () => expect((await eventsOf(owner)).events).toHaveLength(3));
    const newestFirst = sent.map(({ eventId }) => eventId).toReversed();
    expect((await eventsOf(owner)).events.map(({ id }) => id)).toEqual(newestFirst);
    const first = await eventsOf(owner, "?limit=2");
    expect(first.events.map(({ id }) => id)).toEqual(newestFirst.slice(0, 2));
    const second = await eventsOf(owner, `?limit=2&cursor=${first.nextCursor}`);
    expect(second).toMatchObject({ events: [{ id: newestFirst[2] }], nextCursor: null });
    await eventually(async () =>
      expect((await eventsOf(owner)).events[0]?.deliveries).toMatchObject([
        { status: "succeeded", lastAttempt: { status: 200 } },
      ]),
    );
    expect((await eventsOf({ ...owner, serverId: randomUUID() })).events).toEqual([]);
  });

  it("is filtered by kind and by the time of recording: `from` inclusive, `to` exclusive", async () => {
    const owner = { ...anyOwner(), organizationId: harness.organizationId };
    const closed = position("position.closed", owner);
    for (const event of [account("account.updated", owner), closed, account("account.updated", owner)]) {
      await harness.publish(TOPICS.accountEvents, event);
    }
    await eventually(async () => expect((await eventsOf(owner)).events).toHaveLength(3));
    const { events } = await eventsOf(owner);
    const ofKind = await eventsOf(owner, "?type=position.closed&limit=1");
    expect(ofKind).toMatchObject({ events: [{ id: closed.eventId }], nextCursor: null });
    const newest = events[0]?.createdAt ?? "";
    const since = (await eventsOf(owner, `?from=${newest}`)).events;
    const before = (await eventsOf(owner, `?to=${newest}`)).events;
    expect(since.map(({ id }) => id)).toContain(events[0]?.id);
    expect([...since, ...before].map(({ id }) => id)).toEqual(events.map(({ id }) => id));
    expect((await harness.call("GET", `/servers/${owner.serverId}/accounts/1/deliveries?type=none`)).status).toBe(400);
  });
});
