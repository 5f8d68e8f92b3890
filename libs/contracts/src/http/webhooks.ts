import { z } from "zod";

import { CreatedBy } from "../actor.ts";
import { ACCOUNT_STATUSES } from "./accounts.ts";
import { CommandErrorCode, CommandOperation, FinalCommandStatus } from "./commands.ts";
import { Transaction } from "./finance.ts";
import { Deal, Order, Position } from "./history.ts";
import { checkedPageQuery, cursorFields, Pagination, TIME_FIELDS } from "./pagination.ts";
import { RiskAlert, RiskBreach } from "./risk.ts";
import { DateTime, Guid, queryInteger } from "../values.ts";

/** The kinds that an endpoint receives by default (decisions, 11). */
export const DEFAULT_WEBHOOK_KINDS = [
  "account.created",
  "account.updated",
  "account.enabled",
  "account.close_only",
  "account.disabled",
  "account.archived",
  "account.deleted",
  "account.password_changed",
  "order.executed",
  "order.cancelled",
  "position.opened",
  "position.updated",
  "position.closed",
  "deal.executed",
  "transaction.recorded",
  "margin.call",
  "margin.stop_out",
  "risk.breached",
  "risk.warning",
  "risk.evidence_stored",
  "credits.low_balance",
  "webhook.test",
] as const;
/** Kinds that are recorded and sent only if an endpoint of the organization requests them. */
export const COMMAND_WEBHOOK_KINDS = ["command.succeeded", "command.failed", "command.expired"] as const;
/** Every kind of event (decisions, 11). */
export const WEBHOOK_KINDS = [...DEFAULT_WEBHOOK_KINDS, ...COMMAND_WEBHOOK_KINDS] as const;
export const WebhookKind = z.enum(WEBHOOK_KINDS);
export type WebhookKind = z.infer<typeof WebhookKind>;

/** Maximum number of endpoints per organization; the next one returns 400 TOO_MANY_ENDPOINTS. */
export const MAX_WEBHOOK_ENDPOINTS = 20;
/** Maximum length of an endpoint's address, in characters. */
export const MAX_WEBHOOK_URL_LENGTH = 2_048;
/** Maximum number of servers per endpoint. */
const MAX_WEBHOOK_SERVERS = 100;
/** Maximum number of events per page of the feed. */
export const MAX_FEED_EVENTS = 1_000;
/** Maximum number of events per replay; a receiver that missed more reads the feed. */
export const MAX_REPLAY_EVENTS = 20_000;
/**
 * Maximum number of deliveries that listWebhookDeliveries counts: the newest that match. A page by
 * number that begins beyond these deliveries is empty. Pages by cursor reach every delivery.
 */
export const MAX_LISTED_DELIVERIES = 10_000;
/** Headers of a delivery (Standard Webhooks). `traceparent` is sent only for a recorded trace. */
export const WEBHOOK_HEADERS = {
  id: "webhook-id",
  timestamp: "webhook-timestamp",
  signature: "webhook-signature",
  traceparent: "traceparent",
} as const;
/** Value of `after` that means: from this moment on. */
export const FEED_NOW = "now";

const distinct = (values: readonly unknown[]): boolean => new Set(values).size === values.length;
const NO_REPEAT = { error: "must not repeat a value" };
/** The kinds that an endpoint or a feed is limited to. */
export const WebhookKinds = z.array(WebhookKind).min(1).max(WEBHOOK_KINDS.length).refine(distinct, NO_REPEAT);
/** The servers that an endpoint is limited to. */
export const WebhookServerIds = z.array(Guid).min(1).max(MAX_WEBHOOK_SERVERS).refine(distinct, NO_REPEAT);
const Url = z.string().min(1).max(MAX_WEBHOOK_URL_LENGTH);
const Description = z.string().max(250);

export const WEBHOOK_STATUSES = ["enabled", "disabled"] as const;
export const WebhookStatus = z.enum(WEBHOOK_STATUSES);
/**
 * Why an endpoint is disabled: by its owner, after a 410, or after five days in which all attempts
 * failed.
 */
export const WEBHOOK_DISABLED_REASONS = ["owner", "gone", "failing"] as const;
export const WebhookDisabledReason = z.enum(WEBHOOK_DISABLED_REASONS);
export type WebhookDisabledReason = z.infer<typeof WebhookDisabledReason>;

/** An address that events are sent to. Its secret is only in the answers of create and rotate. */
export const WebhookEndpoint = z.object({
  id: z.uuid(),
  url: z.string(),
  description: z.string(),
  /** Null: every kind except the kinds of commands. */
  kinds: z.array(WebhookKind).nullable(),
  /** Null: all servers. Events without a server (credits, tests) are always sent. */
  serverIds: z.array(z.guid()).nullable(),
  status: WebhookStatus,
  disabledReason: WebhookDisabledReason.nullable(),
  /** Start of the current series of failed attempts; null if the last attempt did not fail. */
  failingSince: z.iso.datetime().nullable(),
  createdAt: z.iso.datetime(),
  updatedAt: z.iso.datetime(),
});
export type WebhookEndpoint = z.infer<typeof WebhookEndpoint>;

/** Body of createWebhook. */
export const CreateWebhookBody = z.object({
  url: Url,
  description: Description.default(""),
  kinds: WebhookKinds.nullable().default(null),
  serverIds: WebhookServerIds.nullable().default(null),
});
export type CreateWebhookBody = z.infer<typeof CreateWebhookBody>;

/**
 * Body of updateWebhook; missing fields are unchanged. The status `enabled` restarts the count
 * of failing days.
 */
export const UpdateWebhookBody = z
  .object({
    url: Url.optional(),
    description: Description.optional(),
    kinds: WebhookKinds.nullable().optional(),
    serverIds: WebhookServerIds.nullable().optional(),
    status: WebhookStatus.optional(),
  })
  .refine((body) => Object.values(body).some((value) => value !== undefined), {
    path: ["url"],
    error: "at least one of url, description, kinds, serverIds and status must be given",
  });
export type UpdateWebhookBody = z.infer<typeof UpdateWebhookBody>;

/**
 * Body of replayWebhook: the events that were recorded from `since` (inclusive) to `until`
 * (exclusive). `kinds` replaces the endpoint's kinds for this replay.
 */
export const ReplayWebhookBody = z.object({
  since: DateTime,
  until: DateTime.optional(),
  kinds: WebhookKinds.optional(),
});
export type ReplayWebhookBody = z.infer<typeof ReplayWebhookBody>;

/** Fields of every event; null where they do not apply. */
const Of = {
  eventId: z.uuid(),
  organizationId: z.uuid(),
  serverId: z.guid().nullable(),
  accountNumber: z.string().nullable(),
  /**
   * Counts the account's events of all kinds but those of commands and risk, from 1, without a gap,
   * in the order in which they happened (docs/webhooks.md, "Order").
   */
  accountSequence: z.int().min(1).nullable(),
};

/** State of an account after an event. */
export const AccountEventStatus = z.enum([...ACCOUNT_STATUSES, "deleted"]);
export const PasswordKind = z.enum(["trading", "investor"]);

/** The account as it is after the event. */
const AccountData = z.object({
  ...Of,
  accountId: z.uuid(),
  version: z.int().min(1),
  accountName: z.string(),
  status: AccountEventStatus,
  leverage: z.int(),
});

const event = <T extends z.ZodType, D extends z.ZodType>(type: T, data: D) =>
  z.object({
    type,
    /** When the event happened. */
    timestamp: z.iso.datetime(),
    data,
  });

/**
 * The body of a delivery. The signature covers exactly these bytes, `webhook-id` and
 * `webhook-timestamp`. The body says what happened, with the record as the API shows it after the
 * event.
 */
export const WebhookEvent = z.discriminatedUnion("type", [
  event(
    z.enum([
      "account.created",
      "account.updated",
      "account.enabled",
      "account.close_only",
      "account.disabled",
      "account.archived",
      "account.deleted",
    ]),
    AccountData,
  ),
  event(z.literal("account.password_changed"), AccountData.extend({ passwordKind: PasswordKind })),
  event(z.enum(["order.executed", "order.cancelled"]), z.object({ ...Of, ...Order.shape })),
  event(z.enum(["position.opened", "position.updated"]), z.object({ ...Of, ...Position.shape })),
  event(
    z.literal("position.closed"),
    z.object({ ...Of, ...Position.shape, dealIds: z.array(z.string()), openPositionCount: z.int().min(0) }),
  ),
  event(z.literal("deal.executed"), z.object({ ...Of, ...Deal.shape })),
  event(z.literal("transaction.recorded"), z.object({ ...Of, ...Transaction.shape })),
  event(
    z.enum(["margin.call", "margin.stop_out"]),
    z.object({ ...Of, equity: z.number(), usedMargin: z.number(), marginLevel: z.number() }),
  ),
  event(z.enum(["risk.breached", "risk.warning"]), z.object({ ...Of, ...RiskAlert.shape })),
  event(z.literal("risk.evidence_stored"), z.object({ ...RiskBreach.shape, ...Of })),
  event(z.literal("credits.low_balance"), z.object({ ...Of, availableCredits: z.int(), lowBalanceThreshold: z.int() })),
  event(z.literal("webhook.test"), z.object({ ...Of, endpointId: z.uuid() })),
  event(
    z.enum(COMMAND_WEBHOOK_KINDS),
    z.object({
      ...Of,
      commandId: z.uuid(),
      managedAccountId: z.uuid().nullable(),
      operation: CommandOperation,
      status: FinalCommandStatus,
      attempts: z.int().min(0),
      /** Null also for a large result, such as an export: `getCommand` returns it. */
      result: z.record(z.string(), z.unknown()).nullable(),
      resultOmitted: z.boolean(),
      errorCode: CommandErrorCode.nullable(),
      errorMessage: z.string().nullable(),
      createdBy: CreatedBy,
    }),
  ),
]);
export type WebhookEvent = z.infer<typeof WebhookEvent>;

/** An event in the feed, with its id and the cursor after it. */
export const FeedEvent = z.object({
  /** `webhook-id` of its deliveries. */
  id: z.uuid(),
  /** Sent as `after`, it requests the events after this one. */
  cursor: z.string(),
  type: WebhookKind,
  timestamp: z.iso.datetime(),
  data: z.looseObject(Of),
});
export type FeedEvent = z.infer<typeof FeedEvent>;

/**
 * Kinds in a query string, separated by commas. Some generated clients repeat the parameter for
 * each kind, although the OpenAPI document says `explode: false`.
 */
const KindsQuery = z
  .union([z.string(), z.array(z.string())], { error: "must be kinds of events, separated by commas" })
  .transform((given) => [given].flat().flatMap((text) => text.split(",")))
  .pipe(WebhookKinds);

/**
 * Query of listEvents. Without `after` the feed begins with the oldest event that is kept; without
 * `kinds` it has all kinds except those of commands.
 */
export const ListEventsQuery = z.object({
  after: z.string().min(1).max(64).optional(),
  limit: queryInteger(1, MAX_FEED_EVENTS).default(100),
  kinds: KindsQuery.optional(),
});
export type ListEventsQuery = z.infer<typeof ListEventsQuery>;

/**
 * Answer of listEvents, oldest first. Send `next` as `after`. At the end of the feed, `next` equals
 * the cursor that was sent. Before the end a page may be empty, because one request looks only at a
 * limited part of the feed.
 */
export const EventsAnswer = z.object({ events: z.array(FeedEvent), next: z.string() });

export const DELIVERY_STATUSES = ["pending", "delivering", "succeeded", "failed", "cancelled"] as const;
export const DeliveryStatus = z.enum(DELIVERY_STATUSES);
export type DeliveryStatus = z.infer<typeof DeliveryStatus>;

/** One attempt to deliver. */
export const DeliveryAttempt = z.object({
  /** Counts from 1. */
  number: z.int().min(1),
  at: z.iso.datetime(),
  /** The receiver's HTTP status; null without an answer. */
  status: z.int().nullable(),
  /** Why the attempt failed; null if it succeeded. */
  error: z.string().nullable(),
  durationMs: z.int().min(0),
  /** The first part of the reply, at most 1 KiB, control characters escaped. */
  replyStart: z.string(),
});
export type DeliveryAttempt = z.infer<typeof DeliveryAttempt>;

/** One event on its way to one endpoint. */
export const WebhookDelivery = z.object({
  id: z.uuid(),
  eventId: z.uuid(),
  endpointId: z.uuid(),
  type: WebhookKind,
  status: DeliveryStatus,
  /** The newest 20, oldest first. */
  attempts: z.array(DeliveryAttempt),
  nextAttemptAt: z.iso.datetime().nullable(),
  createdAt: z.iso.datetime(),
  completedAt: z.iso.datetime().nullable(),
});
export type WebhookDelivery = z.infer<typeof WebhookDelivery>;

/** Query of listWebhookDeliveries; `from` and `to` filter by `createdAt`. */
export const ListDeliveriesQuery = checkedPageQuery(
  z.object({
    ...cursorFields("deliveries"),
    status: DeliveryStatus.optional(),
    type: WebhookKind.optional(),
    ...TIME_FIELDS,
    eventId: Guid.optional(),
  }),
);
export type ListDeliveriesQuery = z.infer<typeof ListDeliveriesQuery>;

/** Answer of createWebhook and rotateWebhookSecret, the only answers with a secret (`whsec_…`). */
export const WebhookSecretAnswer = z.object({ endpoint: WebhookEndpoint, secret: z.string() });
export const WebhookAnswer = z.object({ endpoint: WebhookEndpoint });
export const WebhooksAnswer = z.object({ endpoints: z.array(WebhookEndpoint) });
export const DeletedWebhookAnswer = z.object({ id: z.uuid(), deleted: z.literal(true) });
export const WebhookTestAnswer = z.object({ eventId: z.uuid() });
export const WebhookDeliveriesAnswer = z.object({ deliveries: z.array(WebhookDelivery), pagination: Pagination });
export const WebhookDeliveryAnswer = z.object({ delivery: WebhookDelivery });
/** Number of events that the replay sends, whether or not they were sent before. */
export const WebhookReplayAnswer = z.object({ events: z.int().min(0) });
