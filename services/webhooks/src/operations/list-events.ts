import { DEFAULT_WEBHOOK_KINDS, FEED_NOW, type ListEventsQuery } from "@kapi/contracts";
import { ApiError } from "@kapi/http";

import { cursorOf, positionOf } from "../domain/cursor.ts";
import type { EventStore, FeedRow } from "../domain/ports.ts";

/**
 * Maximum number of feed positions that one page scans. A page of a rare kind can be empty while
 * `next` advances.
 */
const MAX_SCANNED_POSITIONS = 50_000;

/**
 * A page of an organization's feed, as JSON text. Positions are assigned in commit order. The page
 * contains only events that were committed before the last position was read. So a caller that
 * continues from `next` misses nothing.
 * @throws ApiError VALIDATION_FAILED for a malformed cursor.
 */
export async function listEvents(
  events: Pick<EventStore, "lastPosition" | "firstPositionAfter" | "list">,
  organizationId: string,
  { after, limit, kinds = [...DEFAULT_WEBHOOK_KINDS] }: ListEventsQuery,
): Promise<string> {
  const last = await events.lastPosition(organizationId);
  const from = after === FEED_NOW ? last : after === undefined ? 0 : givenPosition(after);
  const first = from >= last ? null : await events.firstPositionAfter(organizationId, from);
  // A cursor beyond the end is returned unchanged: the feed was longer before its database was
  // restored.
  if (first === null || first > last) return page([], Math.max(from, last));
  const upTo = Math.min(last, first - 1 + MAX_SCANNED_POSITIONS);
  const rows = await events.list(organizationId, { after: first - 1, upTo, kinds, limit });
  return page(rows, rows.length === limit ? (rows.at(-1)?.position ?? upTo) : upTo);
}

function givenPosition(cursor: string): number {
  const position = positionOf(cursor);
  if (position !== null) return position;
  const issues = [{ path: ["after"], code: "invalid_format", message: "must be a cursor of this feed" }];
  throw new ApiError("VALIDATION_FAILED", { issues });
}

/** The stored event texts, each with its id and cursor inserted at the start. */
function page(rows: readonly FeedRow[], next: number): string {
  const items = rows.map(
    ({ eventId, position, payload }) => `{"id":"${eventId}","cursor":"${cursorOf(position)}",${payload.slice(1)}`,
  );
  return `{"events":[${items.join(",")}],"next":"${cursorOf(next)}"}`;
}
