/** Compares the events of an account in the feed with the events of its trading server. */
import { TOPICS, TradingEvent } from "@kapi/contracts";
import type { TestStack } from "@kapi/local/test-stack";
import { expect } from "vitest";

import { readTopic } from "./everything-stored.ts";
import type { OutsideClient } from "./outside-client.ts";

const LIMIT = 1_000;

interface EventView {
  readonly type: string;
  readonly timestamp: string;
  readonly data: {
    readonly accountNumber: string | null;
    readonly accountSequence: number | null;
    readonly id?: string;
    readonly dealId?: string | null;
    readonly commandId?: string | null;
    readonly dealIds?: readonly string[];
  };
}

/**
 * Checks the events of a deleted account in the feed. They are in the order of the trading server,
 * with the creation first and the deletion last. The feed has every deal that an event names.
 * Throws while an event is missing.
 */
export async function expectStory(stack: TestStack, client: OutsideClient, account: string): Promise<void> {
  const announced = (await feedOf(client)).filter(({ data }) => data.accountNumber === account);
  expect(announced.map(({ data }) => data.accountSequence)).toEqual(announced.map((_, index) => index + 1));
  expect([announced[0]?.type, announced.at(-1)?.type]).toEqual(["account.created", "account.deleted"]);
  const events = await historyOf(stack, `${client.demo.serverId}/${account}`);
  const sequences = announced.map((event) => events.find((happened) => isOf(event, happened))?.sequence);
  expect(sequences).toEqual(sequences.toSorted((a, b) => Number(a) - Number(b)));
  expect(sequences).not.toContain(undefined);
  const times = announced.slice(0, -1).map(({ timestamp }) => timestamp);
  expect(times).toEqual(times.toSorted());

  const traded = events.filter(({ type }) => /^(order\.(executed|cancelled)|position\.|deal\.)/.test(type));
  const types = new Set(traded.map(({ type }) => type as string));
  expect(announced.filter(({ type }) => types.has(type)).map(({ type }) => type)).toEqual(
    traded.map(({ type }) => type),
  );
  const deals = new Set(announced.filter(({ type }) => type === "deal.executed").map(({ data }) => data.id));
  const named = announced.flatMap(({ data: { dealId, dealIds = [] } }) =>
    typeof dealId === "string" ? [dealId] : dealIds,
  );
  expect(named.length).toBeGreaterThan(0);
  expect(named.filter((id) => !deals.has(id))).toEqual([]);
}

/** The trading events of an account, each once, in the order of their sequence. */
async function historyOf(stack: TestStack, key: string): Promise<TradingEvent[]> {
  const records = await readTopic(stack, TOPICS.tradingEvents);
  const events = records
    .filter((record) => record.key === key)
    .map(({ value }) => TradingEvent.parse(JSON.parse(value.toString())));
  const bySequence = new Map(events.map((event) => [event.sequence, event]));
  return [...bySequence.values()].toSorted((a, b) => a.sequence - b.sequence);
}

/** Whether the feed event announces this trading event. */
function isOf({ type, data }: EventView, event: TradingEvent): boolean {
  if (type === "transaction.recorded") {
    if ("deal" in event) return event.deal.id === data.dealId;
    return data.dealId === null && event.reference === data.commandId;
  }
  if (type !== event.type) return false;
  if ("order" in event) return event.order.id === data.id;
  if ("position" in event) return event.position.id === data.id;
  if ("deal" in event) return event.deal.id === data.id;
  return true;
}

async function feedOf(client: OutsideClient): Promise<EventView[]> {
  const events: EventView[] = [];
  for (let after = ""; ;) {
    const path = `/events?limit=${LIMIT}${after}`;
    const { body } = await client.call<{ events: EventView[]; next: string }>("GET", path);
    if (body.events.length === 0) return events;
    events.push(...body.events);
    after = `&after=${encodeURIComponent(body.next)}`;
  }
}
