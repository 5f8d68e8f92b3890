/**
 * Webhook deliveries by event, in the console: GET /events/:eventId, and
 * GET /servers/:serverId/accounts/:accountNumber/deliveries.
 */
import { z } from "zod";

import { queryInteger } from "../values.ts";
import { TIME_FIELDS } from "./pagination.ts";
import { DeliveryAttempt, DeliveryStatus, WebhookDelivery, WebhookKind } from "./webhooks.ts";

const MAX_LISTED_EVENTS = 50;
const DEFAULT_LISTED_EVENTS = 20;
const POSITION = /^[1-9]\d{0,14}$/;

/** An event that was recorded for webhooks. */
const RecordedEvent = z.object({
  /** `webhook-id` of its deliveries. */
  id: z.uuid(),
  type: WebhookKind,
  /** When it was recorded. */
  createdAt: z.iso.datetime(),
  serverId: z.guid().nullable(),
  accountNumber: z.string().nullable(),
});

/** A delivery in a list, with only the last of its attempts. */
const ListedDelivery = WebhookDelivery.omit({ attempts: true, eventId: true, type: true }).extend({
  /** Address of the endpoint. */
  url: z.string(),
  status: DeliveryStatus,
  lastAttempt: DeliveryAttempt.nullable(),
});

/**
 * Answer of GET /events/:eventId: an event of the last 30 days, with its deliveries in every
 * status, one for each endpoint. Deliveries to deleted endpoints are left out.
 */
export const EventDeliveriesAnswer = z.object({
  event: RecordedEvent.extend({
    /** The body that is signed and sent. */
    payload: z.string(),
    deliveries: z.array(WebhookDelivery.extend({ url: z.string() })),
  }),
});
export type EventDeliveriesAnswer = z.infer<typeof EventDeliveriesAnswer>;

/** Query of the deliveries of an account. */
export const ListAccountDeliveriesQuery = z.object({
  /** `nextCursor` of an earlier page. */
  cursor: z.string().regex(POSITION, "must be nextCursor of an earlier page").optional(),
  limit: queryInteger(1, MAX_LISTED_EVENTS).default(DEFAULT_LISTED_EVENTS),
  /** The kind of event. */
  type: WebhookKind.optional(),
  /** When the event was recorded. */
  ...TIME_FIELDS,
});
export type ListAccountDeliveriesQuery = z.output<typeof ListAccountDeliveriesQuery>;

/** The events of an account in the last 30 days, newest first, with their deliveries. */
export const AccountDeliveriesAnswer = z.object({
  events: z.array(RecordedEvent.extend({ deliveries: z.array(ListedDelivery) })),
  nextCursor: z.string().nullable(),
});
export type AccountDeliveriesAnswer = z.infer<typeof AccountDeliveriesAnswer>;
