/** The rows of the operation table for webhooks (decisions, 11), in the form of `OPERATIONS`. */
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

const WEBHOOKS = "/api/v1/management/webhooks";
const ENDPOINT = `${WEBHOOKS}/:endpointId`;

const READ = {
  method: "GET",
  scope: "webhooks:read",
  idempotencyKey: false,
  price: "read",
  success: [200],
  server: false,
  allServers: true,
  group: "Webhooks",
} as const;

const CHANGE = {
  method: "POST",
  scope: "webhooks:manage",
  idempotencyKey: false,
  price: "mutation",
  success: [200],
  server: false,
  allServers: true,
  group: "Webhooks",
} as const;

const WITHOUT_404 = [400, 401, 402, 403, 500] as const;
const WITH_404 = [400, 401, 402, 403, 404, 500] as const;
/** Malformed ids of endpoints return 404, as malformed ids of commands do. */
const WITHOUT_400 = [401, 402, 403, 404, 500] as const;

export const WEBHOOK_OPERATIONS = {
  createWebhook: {
    ...CHANGE,
    path: WEBHOOKS,
    success: [201],
    errors: WITHOUT_404,
    summary: "Adds an endpoint; its secret is in this answer only",
    body: CreateWebhookBody,
    answer: WebhookSecretAnswer,
  },
  listWebhooks: {
    ...READ,
    path: WEBHOOKS,
    errors: [401, 402, 403, 500],
    summary: "The organization's endpoints, oldest first",
    answer: WebhooksAnswer,
  },
  getWebhook: {
    ...READ,
    path: ENDPOINT,
    errors: WITHOUT_400,
    summary: "One endpoint",
    answer: WebhookAnswer,
  },
  updateWebhook: {
    ...CHANGE,
    method: "PATCH",
    path: ENDPOINT,
    errors: WITH_404,
    summary: "Changes, disables or enables an endpoint",
    body: UpdateWebhookBody,
    answer: WebhookAnswer,
  },
  deleteWebhook: {
    ...CHANGE,
    method: "DELETE",
    path: ENDPOINT,
    errors: WITHOUT_400,
    summary: "Deletes an endpoint; deliveries that wait for it are not sent",
    answer: DeletedWebhookAnswer,
  },
  rotateWebhookSecret: {
    ...CHANGE,
    path: `${ENDPOINT}/rotate-secret`,
    errors: WITHOUT_400,
    summary: "Gives an endpoint a new secret, shown in this answer only; the old secret signs too for 24 hours",
    answer: WebhookSecretAnswer,
  },
  testWebhook: {
    ...CHANGE,
    path: `${ENDPOINT}/test`,
    success: [202],
    errors: WITH_404,
    summary: "Sends the endpoint an event of the kind webhook.test",
    answer: WebhookTestAnswer,
  },
  replayWebhook: {
    ...CHANGE,
    path: `${ENDPOINT}/replay`,
    success: [202],
    errors: WITH_404,
    summary: "Sends the events of a period again",
    body: ReplayWebhookBody,
    answer: WebhookReplayAnswer,
  },
  listWebhookDeliveries: {
    ...READ,
    path: `${ENDPOINT}/deliveries`,
    errors: WITH_404,
    summary: "What was sent to an endpoint and what came back, newest first",
    query: ListDeliveriesQuery,
    answer: WebhookDeliveriesAnswer,
  },
  redeliverWebhook: {
    ...CHANGE,
    path: `${ENDPOINT}/deliveries/:deliveryId/redeliver`,
    success: [202],
    errors: WITH_404,
    summary: "Sends one event again, at once",
    answer: WebhookDeliveryAnswer,
  },
  listEvents: {
    ...READ,
    path: "/api/v1/management/events",
    errors: WITHOUT_404,
    summary: "The feed of all events, oldest first: for a receiver that was unavailable",
    query: ListEventsQuery,
    answer: EventsAnswer,
  },
} as const;
