/**
 * The internal routes of the webhooks service. Each webhook operation of the management API has a
 * route with the same answer. Only the console calls the other routes: `getEvent`,
 * `listAccountDeliveries`, and those of the audit outbox.
 */
import {
  CreateWebhookBody,
  DeletedWebhookAnswer,
  EventsAnswer,
  ListDeliveriesQuery,
  ListEventsQuery,
  ReplayWebhookBody,
  UpdateWebhookBody,
  WebhookAnswer,
  WebhookDeliveriesAnswer,
  WebhookDeliveryAnswer,
  WebhookReplayAnswer,
  WebhooksAnswer,
  WebhookSecretAnswer,
  WebhookTestAnswer,
} from "../http/webhooks.ts";
import {
  AccountDeliveriesAnswer,
  EventDeliveriesAnswer,
  ListAccountDeliveriesQuery,
} from "../http/console-deliveries.ts";
import { AUDIT_OUTBOX_ROUTES } from "./audit-outbox.ts";
import { CUSTOMER_CALLERS, type InternalRoutes } from "./route.ts";

const ORGANIZATION = "/internal/organizations/:organizationId";
const ENDPOINT = `${ORGANIZATION}/webhooks/:endpointId`;
const CREATED = 201;
const ACCEPTED = 202;

/** A change of one endpoint. */
const CHANGE = { method: "POST", callers: CUSTOMER_CALLERS } as const;
const READ = { method: "GET", callers: CUSTOMER_CALLERS } as const;

export const WEBHOOKS_ROUTES = {
  createWebhook: {
    ...CHANGE,
    path: `${ORGANIZATION}/webhooks`,
    body: CreateWebhookBody,
    success: CREATED,
    answer: WebhookSecretAnswer,
  },
  listWebhooks: { ...READ, path: `${ORGANIZATION}/webhooks`, answer: WebhooksAnswer },
  getWebhook: { ...READ, path: ENDPOINT, answer: WebhookAnswer },
  updateWebhook: { ...CHANGE, method: "PATCH", path: ENDPOINT, body: UpdateWebhookBody, answer: WebhookAnswer },
  deleteWebhook: { ...CHANGE, method: "DELETE", path: ENDPOINT, answer: DeletedWebhookAnswer },
  rotateWebhookSecret: { ...CHANGE, path: `${ENDPOINT}/rotate-secret`, answer: WebhookSecretAnswer },
  testWebhook: { ...CHANGE, path: `${ENDPOINT}/test`, success: ACCEPTED, answer: WebhookTestAnswer },
  replayWebhook: {
    ...CHANGE,
    path: `${ENDPOINT}/replay`,
    body: ReplayWebhookBody,
    success: ACCEPTED,
    answer: WebhookReplayAnswer,
  },
  listWebhookDeliveries: {
    ...READ,
    path: `${ENDPOINT}/deliveries`,
    query: ListDeliveriesQuery,
    answer: WebhookDeliveriesAnswer,
  },
  redeliverWebhook: {
    ...CHANGE,
    path: `${ENDPOINT}/deliveries/:deliveryId/redeliver`,
    success: ACCEPTED,
    answer: WebhookDeliveryAnswer,
  },
  listEvents: {
    method: "GET",
    path: `${ORGANIZATION}/events`,
    callers: ["gateway"],
    query: ListEventsQuery,
    answer: EventsAnswer,
  },
  getEvent: {
    method: "GET",
    path: `${ORGANIZATION}/events/:eventId`,
    callers: ["console"],
    answer: EventDeliveriesAnswer,
  },
  listAccountDeliveries: {
    method: "GET",
    path: `${ORGANIZATION}/servers/:serverId/accounts/:accountNumber/deliveries`,
    callers: ["console"],
    query: ListAccountDeliveriesQuery,
    answer: AccountDeliveriesAnswer,
  },
  ...AUDIT_OUTBOX_ROUTES,
} as const satisfies InternalRoutes;
