/** Events of an organization with their deliveries to its endpoints. */
import type { WebhookDelivery, WebhookKind } from "@kapi/contracts";
import { toIso, uuidV5 } from "@kapi/kernel";
import { type Database, statement } from "@kapi/postgres";
import { z } from "zod";

import type { Endpoint } from "../../domain/endpoint.ts";
import type { EventDeliveries } from "../../domain/ports.ts";
import { type DeliveryRow, shownColumns, toWire } from "./delivery-store.ts";

interface EventRow {
  readonly day: string;
  readonly event_id: string;
  readonly type: WebhookKind;
  readonly server_id: string | null;
  readonly payload: string;
  readonly created_at: Date;
}

const GET_EVENT = statement<EventRow>(
  "webhooks_get_event",
  `select day::text as day, event_id, type, server_id, payload, created_at from events
   where organization_id = $1 and event_id = $2 limit 1`,
);

/**
 * $1 organization, $2 and $3 account, $4 upper bound of the positions (exclusive), $5 limit.
 * Filters, each null if it is not set: $6 kind, $7 earliest recording time, $8 end of the recording
 * times (exclusive).
 */
const LIST_OF_ACCOUNT = statement<Omit<EventRow, "payload"> & { position: number }>(
  "webhooks_list_events_of_account",
  `select listed.position, e.day::text as day, e.event_id, e.type, e.server_id, e.created_at
   from account_events as listed
     join events as e
       on e.organization_id = listed.organization_id and e.event_id = listed.event_id and e.day = listed.day
   where listed.server_id = $2 and listed.account_number = $3 and listed.organization_id = $1
     and listed.position < $4
     and ($6::text is null or e.type = $6)
     and ($7::timestamptz is null or e.created_at >= $7)
     and ($8::timestamptz is null or e.created_at < $8)
   order by listed.position desc limit $5`,
);

/** $1, $2: recording days and ids of deliveries; $3 now. */
const LIST_DELIVERIES = statement<DeliveryRow>(
  "webhooks_list_deliveries_of_events",
  `select ${shownColumns("$3::timestamptz")} from unnest($1::date[], $2::uuid[]) as wanted (wanted_day, wanted_id)
     join deliveries on deliveries.id = wanted_id and deliveries.day = wanted_day`,
);

/** A position after all events: the first page starts there. */
const AFTER_ALL_EVENTS = Number.MAX_SAFE_INTEGER;
const Payload = z.object({ data: z.object({ accountNumber: z.string().nullable() }) });

/** Reads events with their deliveries. The ids of endpoint and event give the delivery's id. */
export function createEventDeliveries(database: Database): EventDeliveries {
  const deliveriesOf = async (
    events: readonly Pick<EventRow, "day" | "event_id">[],
    endpoints: readonly Pick<Endpoint, "id" | "url">[],
    nowMs: number,
  ) => {
    const wanted = events.flatMap(({ day, event_id: eventId }) =>
      endpoints.map(({ id }) => ({ day, id: uuidV5(id, eventId) })),
    );
    const values = [wanted.map(({ day }) => day), wanted.map(({ id }) => id), toIso(nowMs)];
    const rows = wanted.length === 0 ? [] : await database.query(LIST_DELIVERIES, values);
    const urls = new Map(endpoints.map(({ id, url }) => [id, url]));
    const deliveries = rows.map((row) => Object.assign(toWire(row), { url: urls.get(row.endpoint_id) ?? "" }));
    return Map.groupBy(deliveries, ({ eventId }) => eventId);
  };
  return {
    event: async (organizationId, eventId, endpoints, nowMs) => {
      const [row] = await database.query(GET_EVENT, [organizationId, eventId]);
      if (row === undefined) return null;
      const deliveries = await deliveriesOf([row], endpoints, nowMs);
      const { accountNumber } = Payload.parse(JSON.parse(row.payload)).data;
      const { payload } = row;
      return { ...fromRow(row), accountNumber, payload, deliveries: deliveries.get(row.event_id) ?? [] };
    },
    ofAccount: async ({ organizationId, serverId, accountNumber }, query, endpoints, nowMs) => {
      const { cursor, limit, type = null, from = null, to = null } = query;
      const before = cursor === undefined ? AFTER_ALL_EVENTS : Number(cursor);
      // One event more shows whether another page follows.
      const wanted = [organizationId, serverId, accountNumber, before, limit + 1, type, from, to];
      const rows = await database.query(LIST_OF_ACCOUNT, wanted);
      const shown = rows.slice(0, limit);
      const deliveries = await deliveriesOf(shown, endpoints, nowMs);
      const last = rows.length > limit ? shown.at(-1) : undefined;
      return {
        events: shown.map((row) =>
          Object.assign(fromRow(row), {
            accountNumber,
            deliveries: (deliveries.get(row.event_id) ?? []).map(toListed),
          }),
        ),
        nextCursor: last === undefined ? null : String(last.position),
      };
    },
  };
}

function fromRow(row: Omit<EventRow, "payload" | "day">) {
  return { id: row.event_id, type: row.type, createdAt: row.created_at.toISOString(), serverId: row.server_id };
}

function toListed({ attempts, eventId: _event, type: _type, ...delivery }: WebhookDelivery & { readonly url: string }) {
  return { ...delivery, lastAttempt: attempts.at(-1) ?? null };
}
