import { DEFAULT_WEBHOOK_KINDS, FEED_NOW, type ListEventsQuery } from "@kapi/contracts";
import { ApiError } from "@kapi/http";

import { cursorOf, positionOf } from "../domain/cursor.ts";
import type { EventStore, FeedRow } from "../domain/ports.ts";

/**
 * Places of the feed that one page passes over, at most: of a rare kind a page can be empty, and
 * `next` moves on.
 */
const MAX_PLACES = 50_000;

/**
 * A page of an organization's feed, as JSON text. Places are given in the order of commits, and
 * only what was committed before the last place was read is in it: whoever goes on from `next`
 * misses nothing, whatever commits meanwhile.
 * @throws ApiError VALIDATION_FAILED for a cursor that is none.
 */
export async function listEvents(
  events: Pick<EventStore, "lastPosition" | "firstPositionAfter" | "list">,
  organizationId: string,
  { after, limit, kinds = [...DEFAULT_WEBHOOK_KINDS] }: ListEventsQuery,
): Promise<string> {
  const last = await events.lastPosition(organizationId);
  const from = after === FEED_NOW ? last : after === undefined ? 0 : givenPosition(after);
  const first = from >= last ? null : await events.firstPositionAfter(organizationId, from);
  // A cursor beyond the end stays where it is: it came from a feed that was longer.
  if (first === null || first > last) return page([], Math.max(from, last));
  const upTo = Math.min(last, first - 1 + MAX_PLACES);
  const rows = await events.list(organizationId, { after: first - 1, upTo, kinds, limit });
  return page(rows, rows.length === limit ? (rows.at(-1)?.position ?? upTo) : upTo);
}

function givenPosition(cursor: string): number {
  const position = positionOf(cursor);
  if (position !== null) return position;
  const issues = [{ path: ["after"], code: "invalid_format", message: "must be a cursor of this feed" }];
  throw new ApiError("VALIDATION_FAILED", { issues });
}

/** The events' own bytes, each with its id and cursor put before them. */
function page(rows: readonly FeedRow[], next: number): string {
  const items = rows.map(
    ({ eventId, position, payload }) => `{"id":"${eventId}","cursor":"${cursorOf(position)}",${payload.slice(1)}`,
  );
  return `{"events":[${items.join(",")}],"next":"${cursorOf(next)}"}`;
}
