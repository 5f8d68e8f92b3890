import { expect, it } from "vitest";

import type { Transport } from "../http/transport.ts";
import { EventsResource } from "./events.ts";

/** A page covers this many events of the feed, and has those of them that `kinds` selects. */
const EVENTS_PER_PAGE = 2;
const FEED = ["command.succeeded", "command.failed", "command.succeeded", "risk.breached", "command.failed"];

function feed(): { events: EventsResource; calls: (string | undefined)[] } {
  const calls: (string | undefined)[] = [];
  const request = ({ query }: { query: { after?: string; kinds?: readonly string[] } }) => {
    calls.push(query.after);
    const after = Number(query.after ?? 0);
    const until = Math.min(after + EVENTS_PER_PAGE, FEED.length);
    const events = FEED.slice(after, until)
      .map((type, index) => ({ id: type, type, cursor: String(after + index + 1) }))
      .filter(({ type }) => query.kinds?.includes(type) ?? true);
    return Promise.resolve({ body: { events, next: String(until) } });
  };
  return { events: new EventsResource({ request } as unknown as Transport), calls };
}

it("a list of some kinds of events continues after a page that covers only events of other kinds", async () => {
  const { events } = feed();
  const found = [];
  for await (const event of events.list({ kinds: ["risk.breached"] })) found.push(event.cursor);
  expect(found).toEqual(["4"]);
});

it("a second catch-up does not read again the events of other kinds that the first catch-up skipped", async () => {
  const { events, calls } = feed();
  let cursor: string | null = null;
  const cursorStore = {
    load: () => Promise.resolve(cursor),
    save: (next: string) => Promise.resolve(void (cursor = next)),
  };
  const handled: string[] = [];
  const catchUp = () =>
    events.catchUp({ cursorStore, kinds: ["risk.breached"] }, (event) => void handled.push(event.cursor));
  expect(await catchUp()).toBe(1);
  expect(await catchUp()).toBe(0);
  expect(handled).toEqual(["4"]);
  expect(calls.at(-1)).toBe("5");
});
