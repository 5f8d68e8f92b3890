import { eventually } from "@kapi/testkit";
import { expect } from "vitest";

import type { Harness } from "./harness.ts";

/** Trading events that are published as account events. */
const ANNOUNCED = /^(order\.(executed|cancelled)|position\.|deal\.|margin\.)/;

/**
 * Expects that the account's events are numbered from 1 without a gap, and that the last one is the
 * only deletion event. Events of orders, positions, deals and margin must match the trading
 * server's events, in order. Every id in `dealIds` must have its deal event.
 */
export async function expectDeletionPublishedOnce(harness: Harness, account: string): Promise<void> {
  const published = await eventually(() => {
    const accountEvents = harness.eventsOf(account);
    return (
      accountEvents.at(-1)?.type === "account.deleted" &&
      accountEvents.length === accountEvents.at(-1)?.accountSequence &&
      accountEvents
    );
  });
  expect(published.map(({ accountSequence }) => accountSequence)).toEqual(published.map((_, index) => index + 1));
  expect(published.filter(({ type }) => type === "account.deleted")).toHaveLength(1);
  expect(published.at(-1)).toMatchObject({ type: "account.deleted", status: "deleted" });
  const { events } = await harness.client.history(harness.server.serverId, account, 0, 1_000);
  const shown = (things: readonly { type: string; occurredAt: string }[]): string[] =>
    things.filter(({ type }) => ANNOUNCED.test(type)).map(({ type, occurredAt }) => `${type} ${occurredAt}`);
  expect(shown(published)).toEqual(shown(events));
  const deals = new Set(published.flatMap((accountEvent) => ("deal" in accountEvent ? [accountEvent.deal.id] : [])));
  const named = published.flatMap((accountEvent) => ("dealIds" in accountEvent ? accountEvent.dealIds : []));
  expect(named.filter((id) => !deals.has(id))).toEqual([]);
}
