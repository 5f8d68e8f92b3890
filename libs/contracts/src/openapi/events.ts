/** The section `webhooks` of the document: the request for each kind of event. */
import type { z } from "zod";

import { WEBHOOK_HEADERS, WEBHOOK_KINDS, type WebhookKind } from "../http/webhooks.ts";
import { EVENT_EXAMPLES } from "./event-examples.ts";
import { EVENTS } from "./event-schemas.ts";
import { type JsonSchema, referenceTo } from "./schemas.ts";

/** A description of each kind. */
const KIND_TEXTS: Readonly<Record<WebhookKind, string>> = {
  "account.created": "An account was created and can be used.",
  "account.updated": "An account has another name or leverage.",
  "account.enabled": "An account was enabled.",
  "account.close_only": "An account was made close-only: it can close positions, and opens none.",
  "account.disabled": "An account was disabled.",
  "account.archived": "An account was archived.",
  "account.deleted": "An account was deleted.",
  "account.password_changed":
    "An account has another trading or investor password. The event does not contain the password.",
  "order.executed": "An order was executed.",
  "order.cancelled": "An order was cancelled.",
  "position.opened": "A position was opened.",
  "position.updated": "A position was closed in part: `volume - closedVolume` is still open.",
  "position.closed":
    "A position was closed completely. `dealIds` are all its deals, the entry first; `openPositionCount` is how many positions the account still has open.",
  "deal.executed": "One execution: an entry, an exit or a partial close.",
  "transaction.recorded": "The account's balance has changed: one row of its ledger.",
  "margin.call": "The margin level of an account fell to the level of a margin call. `marginLevel` is in percent.",
  "margin.stop_out":
    "The margin level of an account fell to the level at which positions are closed. `marginLevel` is in percent.",
  "risk.breached":
    "A risk rule of an account was breached, or a profit target was reached. `action` says what kapi does; `commandId` is the command with which it does so. The event comes once for a rule and a period.",
  "risk.warning":
    "The loss or profit of an account has reached the share of a limit at which you asked for a warning. The event comes once for a rule and a period, and not after the breach.",
  "risk.evidence_stored":
    "The evidence of a breach is stored, about a minute and a half after the breach. Read the evidence with `getBreachEvidence`. `evidence` has the lowest equity in the minute after the breach (for a profit target the highest equity or balance), and the sequence of the live sample that includes the breach.",
  "credits.low_balance": "The wallet of the organization came down to its low-balance threshold.",
  "webhook.test": "Sent to one endpoint when you ask for it.",
  "command.succeeded": "A command has succeeded. Only to endpoints that name this kind.",
  "command.failed": "A command has failed. Only to endpoints that name this kind.",
  "command.expired": "A command was not carried out in time. Only to endpoints that name this kind.",
};

const HEADER_TEXTS: Readonly<Record<keyof typeof WEBHOOK_HEADERS, string>> = {
  id: "The id of the event, the same in every attempt and for every endpoint. Ignore an event whose id you have already processed.",
  timestamp: "When this attempt was made, in seconds since 1970.",
  signature:
    "`v1,` and the base64 of the HMAC-SHA256 over `<webhook-id>.<webhook-timestamp>.<body>`. For 24 hours after a rotation of the secret there are two signatures, with a space between them.",
  traceparent: "Only if your operator records the trace of the event (W3C Trace Context).",
};

const HEADER_EXAMPLES: Readonly<Record<keyof typeof WEBHOOK_HEADERS, string>> = {
  id: EVENT_EXAMPLES["account.created"].data.eventId,
  timestamp: "1772445900",
  signature: "v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=",
  traceparent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
};

const HEADERS = Object.keys(WEBHOOK_HEADERS) as (keyof typeof WEBHOOK_HEADERS)[];
const parameterOf = (name: keyof typeof WEBHOOK_HEADERS): string => `delivery-${name}`;

/** The headers of every delivery, for `components.parameters`. */
export function deliveryHeaders(): JsonSchema {
  return Object.fromEntries(
    HEADERS.map((name) => [
      parameterOf(name),
      {
        name: WEBHOOK_HEADERS[name],
        in: "header",
        required: name !== "traceparent",
        description: HEADER_TEXTS[name],
        schema: { type: "string" },
        example: HEADER_EXAMPLES[name],
      },
    ]),
  );
}

/** Every kind of event, as a request to an endpoint. */
export function webhookSection(): Record<string, JsonSchema> {
  return Object.fromEntries(WEBHOOK_KINDS.map((kind) => [kind, { post: describeEvent(kind) }]));
}

function describeEvent(kind: WebhookKind): JsonSchema {
  return {
    operationId: operationIdOf(kind),
    tags: ["Webhooks"],
    summary: kind,
    description: KIND_TEXTS[kind],
    security: [],
    parameters: HEADERS.map((name) => ({ $ref: `#/components/parameters/${parameterOf(name)}` })),
    requestBody: {
      required: true,
      content: {
        "application/json": {
          schema: referenceTo(schemaOf(kind)),
          example: EVENT_EXAMPLES[kind],
        },
      },
    },
    responses: {
      "2XX": {
        description: "Received. After any other answer except 410, or none within 15 s, the event is sent again later.",
      },
      "410": { description: "The receiver wants no more events: the endpoint is disabled." },
    },
  };
}

/** The name of the request in generated code: position.closed → onPositionClosed. */
function operationIdOf(kind: WebhookKind): string {
  return `on${kind.replaceAll(/(?:^|[._])(\w)/g, (_whole, letter: string) => letter.toUpperCase())}`;
}

function schemaOf(kind: WebhookKind): z.ZodType {
  const schema = Object.values(EVENTS).find((candidate) => candidate.shape.type.safeParse(kind).success);
  if (schema === undefined) throw new Error(`EVENTS has no schema for events of the kind ${kind}`);
  return schema;
}
