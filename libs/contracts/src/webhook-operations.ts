/** The rows of the operation table for webhooks (decisions, 11), in the form of the others. */
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
} from "./http/webhooks.ts";

const ROOT = "/api/v1/management";
const ENDPOINT = `${ROOT}/webhooks/:endpointId`;

const READ = {
  method: "GET",
  scope: "webhooks:read",
  idempotencyKey: false,
  price: "read",
  success: [200],
  errors: [400, 401, 402, 403, 404, 500],
  server: false,
  group: "Webhooks",
} as const;

const CHANGE = { ...READ, method: "POST", scope: "webhooks:manage", price: "mutation" } as const;

export const WEBHOOK_OPERATIONS = {
  createWebhook: {
    ...CHANGE,
    path: `${ROOT}/webhooks`,
    success: [201],
    errors: [400, 401, 402, 403, 500],
    summary: "Adds an endpoint that events are sent to; its secret is in this answer only",
    body: CreateWebhookBody,
    answer: WebhookSecretAnswer,
  },
  listWebhooks: {
    ...READ,
    path: `${ROOT}/webhooks`,
    errors: [401, 402, 403, 500],
    summary: "The organization's endpoints, oldest first",
    answer: WebhooksAnswer,
  },
  getWebhook: { ...READ, path: ENDPOINT, summary: "One endpoint", answer: WebhookAnswer },
  updateWebhook: {
    ...CHANGE,
    method: "PATCH",
    path: ENDPOINT,
    summary: "Changes an endpoint; what is not given stays",
    body: UpdateWebhookBody,
    answer: WebhookAnswer,
  },
  deleteWebhook: {
    ...CHANGE,
    method: "DELETE",
    path: ENDPOINT,
    summary: "Deletes an endpoint; nothing is sent to it any more",
    answer: DeletedWebhookAnswer,
  },
  rotateWebhookSecret: {
    ...CHANGE,
    path: `${ENDPOINT}/rotate-secret`,
    summary: "A new secret, in this answer only; the old one signs along for 24 hours",
    answer: WebhookSecretAnswer,
  },
  testWebhook: {
    ...CHANGE,
    path: `${ENDPOINT}/test`,
    success: [202],
    summary: "Sends a `webhook.test` event to this endpoint alone",
    answer: WebhookTestAnswer,
  },
  listWebhookDeliveries: {
    ...READ,
    path: `${ENDPOINT}/deliveries`,
    summary: "What was sent to an endpoint, or will be, with every attempt; newest first",
    query: ListDeliveriesQuery,
    answer: WebhookDeliveriesAnswer,
  },
  redeliverWebhook: {
    ...CHANGE,
    path: `${ENDPOINT}/deliveries/:deliveryId/redeliver`,
    success: [202],
    summary: "Sends one delivery again, with the same id",
    answer: WebhookDeliveryAnswer,
  },
  replayWebhook: {
    ...CHANGE,
    path: `${ENDPOINT}/replay`,
    success: [202],
    summary: "Sends all events since a time again, with the same ids",
    body: ReplayWebhookBody,
    answer: WebhookReplayAnswer,
  },
  listEvents: {
    ...READ,
    path: `${ROOT}/events`,
    errors: [400, 401, 402, 403, 500],
    summary: "The feed of the events that webhooks tell, oldest first, kept for 30 days",
    query: ListEventsQuery,
    answer: EventsAnswer,
  },
} as const;
