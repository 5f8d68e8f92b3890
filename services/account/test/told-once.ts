import { eventually } from "@kapi/testkit";
import { expect } from "vitest";

import type { World } from "./world.ts";

/** Events of the trading server that are announced as facts. */
const ANNOUNCED = /^(order\.(executed|cancelled)|position\.|deal\.|margin\.)/;

/**
 * The facts of the account number from 1 without a gap; the last tells the deletion, once. Those
 * before tell all that the trading server did, in its order, and every deal that is named.
 */
export async function deletionIsToldOnce(world: World, account: string): Promise<void> {
  const told = await eventually(() => {
    const facts = world.factsOf(account);
    return facts.at(-1)?.type === "account.deleted" && facts.length === facts.at(-1)?.accountSequence && facts;
  });
  expect(told.map(({ accountSequence }) => accountSequence)).toEqual(told.map((_, index) => index + 1));
  expect(told.filter(({ type }) => type === "account.deleted")).toHaveLength(1);
  expect(told.at(-1)).toMatchObject({ type: "account.deleted", status: "deleted" });
  const { events } = await world.client.history(world.server.serverId, account, 0, 1_000);
  const shown = (things: readonly { type: string; occurredAt: string }[]): string[] =>
    things.filter(({ type }) => ANNOUNCED.test(type)).map(({ type, occurredAt }) => `${type} ${occurredAt}`);
  expect(shown(told)).toEqual(shown(events));
  const deals = new Set(told.flatMap((fact) => ("deal" in fact ? [fact.deal.id] : [])));
  const named = told.flatMap((fact) => ("dealIds" in fact ? fact.dealIds : []));
  expect(named.filter((id) => !deals.has(id))).toEqual([]);
}
