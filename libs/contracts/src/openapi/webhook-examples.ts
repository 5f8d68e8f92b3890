import type { z } from "zod";

import type { WebhookDelivery, WebhookEndpoint } from "../http/webhooks.ts";
import type { WEBHOOK_OPERATIONS } from "../webhook-operations.ts";
import type { Example } from "./example.ts";

export const ENDPOINT_ID = "0197a4b0-3c11-7f52-9d08-4e6a1b2c3d0a";
export const DELIVERY_ID = "0197a4b2-77e0-7a33-8c19-0f5e6d7c8b0b";
const EVENT_ID = "9e107d9d-372b-5b6c-9f3e-1a2b3c4d5e0c";
const ORGANIZATION_ID = "0197a3c2-5b1e-7c44-9f0e-2a8d4be61f01";
const SERVER_ID = "0197a3c2-6d20-7a10-8b3f-91c5e07d2a02";

const endpoint: z.input<typeof WebhookEndpoint> = {
  id: ENDPOINT_ID,
  url: "https://backend.example.com/kapi",
  description: "Risk engine",
  kinds: ["position.closed", "margin.stop_out"],
  serverIds: null,
  status: "enabled",
  disabledReason: null,
  failingSince: null,
  createdAt: "2026-03-02T09:00:00.000Z",
  updatedAt: "2026-03-02T09:00:00.000Z",
};
const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

const delivery: z.input<typeof WebhookDelivery> = {
  id: DELIVERY_ID,
  eventId: EVENT_ID,
  endpointId: ENDPOINT_ID,
  type: "margin.stop_out",
  status: "succeeded",
  attempts: [
    {
      number: 1,
      at: "2026-03-02T10:05:00.120Z",
      status: 503,
      error: "the receiver answered 503",
      durationMs: 41,
      replyStart: "try again",
    },
    { number: 2, at: "2026-03-02T10:05:05.480Z", status: 200, error: null, durationMs: 18, replyStart: "ok" },
  ],
  nextAttemptAt: null,
  createdAt: "2026-03-02T10:05:00.100Z",
  completedAt: "2026-03-02T10:05:05.498Z",
};

type Contracts = typeof WEBHOOK_OPERATIONS;

/** Examples of the operations on webhooks, by their names. */
export const WEBHOOK_EXAMPLES: { readonly [O in keyof Contracts]: Example<Contracts[O]> } = {
  createWebhook: {
    body: {
      url: "https://backend.example.com/kapi",
      description: "Risk engine",
      kinds: ["position.closed", "margin.stop_out"],
      serverIds: null,
    },
    answer: { endpoint, secret },
  },
  listWebhooks: { answer: { endpoints: [endpoint] } },
  getWebhook: { answer: { endpoint } },
  updateWebhook: {
    body: { status: "disabled" },
    answer: { endpoint: { ...endpoint, status: "disabled", disabledReason: "owner" } },
  },
  deleteWebhook: { answer: { id: ENDPOINT_ID, deleted: true } },
  rotateWebhookSecret: { answer: { endpoint, secret } },
  testWebhook: { answer: { eventId: EVENT_ID } },
  replayWebhook: { body: { since: "2026-03-01T00:00:00.000Z" }, answer: { events: 42 } },
  listWebhookDeliveries: {
    answer: { deliveries: [delivery], pagination: { page: 1, limit: 20, total: 1, totalPages: 1, nextCursor: null } },
  },
  redeliverWebhook: {
    answer: {
      delivery: { ...delivery, status: "pending", nextAttemptAt: "2026-03-02T11:00:00.000Z", completedAt: null },
    },
  },
  listEvents: {
    answer: {
      events: [
        {
          id: EVENT_ID,
          cursor: "1024",
          type: "margin.stop_out",
          timestamp: "2026-03-02T10:05:00.000Z",
          data: {
            eventId: EVENT_ID,
            organizationId: ORGANIZATION_ID,
            serverId: SERVER_ID,
            accountNumber: "10000042",
            accountSequence: 57,
            equity: 812.4,
            usedMargin: 1_650.1,
            marginLevel: 49.23,
          },
        },
      ],
      next: "1024",
    },
  },
};
