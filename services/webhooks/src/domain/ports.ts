import type {
  AccountDeliveriesAnswer,
  EventDeliveriesAnswer,
  ListAccountDeliveriesQuery,
  ListDeliveriesQuery,
  Pagination,
  UpdateWebhookBody,
  WebhookDelivery,
  WebhookDisabledReason,
  WebhookKind,
  AccountRef,
} from "@kapi/contracts";
import type { SealedPassword } from "@kapi/kernel";

import type { Reply, AttemptOutcome } from "./attempt.ts";
import type { ChangedBy } from "./audit.ts";
import type { Endpoint } from "./endpoint.ts";
import type { IncomingEvent } from "./events.ts";
import type { MissingEvents } from "./source-order.ts";

/** Identifies a delivery. `day` is the recording day of its event, as YYYY-MM-DD. */
export interface DeliveryName {
  readonly day: string;
  readonly endpointId: string;
  readonly id: string;
}

/** A delivery that this process has leased. */
export interface LeasedDelivery extends DeliveryName {
  readonly organizationId: string;
  readonly eventId: string;
  /** The body to sign and send. */
  readonly payload: string;
  /** Number of attempts so far, across redeliveries. */
  readonly attemptCount: number;
  /** Number of failed attempts since the delivery was created or last restarted. */
  readonly step: number;
  /** The span that recorded the event, if it is sampled. */
  readonly traceparent?: string | undefined;
  /** Milliseconds since 1970. After that another process may lease the delivery. */
  readonly leaseUntilMs: number;
}

/** An attempt to record, with its outcome. */
export interface AttemptRecord {
  readonly delivery: LeasedDelivery;
  readonly outcome: AttemptOutcome;
}

/** Identifies an endpoint of an organization. */
export interface EndpointName {
  readonly organizationId: string;
  readonly endpointId: string;
}

/** An endpoint with due deliveries, and the due time of the oldest one. */
export interface DueEndpoint extends EndpointName {
  readonly dueAtMs: number;
}

/** What became of the events of a call. */
export interface RecordedEvents {
  /** Number of newly recorded events. */
  readonly recorded: number;
  /** New deliveries that this process has leased. */
  readonly leased: readonly LeasedDelivery[];
  /** Endpoints with further due deliveries in the database. */
  readonly more: readonly EndpointName[];
  /** Events that did not arrive before later events of their account were recorded. */
  readonly missing: readonly MissingEvents[];
}

/** How many deliveries this process can lease now. */
export interface Capacity {
  /** Reserves room for one more delivery to this endpoint; false if there is none. */
  reserve(endpoint: EndpointName): boolean;
}

/** The events of all organizations, with their feeds. */
export interface EventStore {
  /**
   * Records new events, each with its feed position and account sequence, and a delivery to every
   * subscribed endpoint, in one transaction. Deliveries within the capacity are leased until
   * `leaseUntilMs`. An event that must wait for an older event is stored as waiting. A command
   * event is dropped if no enabled endpoint of its organization subscribes to it.
   */
  recordEvents(
    events: readonly IncomingEvent[],
    readCapacity: () => Capacity,
    nowMs: number,
    leaseUntilMs: number,
  ): Promise<RecordedEvents>;
  /** Up to `limit` events whose wait for an older event is over; `recordEvents` records them. */
  overdue(limit: number): Promise<readonly IncomingEvent[]>;
  /** Whether any enabled endpoint subscribes to command events. */
  hasCommandSubscribers(): Promise<boolean>;
  /** Position of the organization's newest event; 0 without events. */
  lastPosition(organizationId: string): Promise<number>;
  /**
   * Position of the organization's newest event, after all running recordings of the organization
   * have ended: no later recording gets a position up to this one.
   */
  settledPosition(organizationId: string): Promise<number>;
  /** Position of the oldest stored event after `after`; null without one. */
  firstPositionAfter(organizationId: string, after: number): Promise<number | null>;
  /** Up to `limit` events with a position above `after` and up to `upTo`, in order. */
  list(organizationId: string, page: FeedPage): Promise<readonly FeedRow[]>;
  /** Number of events of a replay, counted up to `atMost`. */
  countForReplay(replay: Replay, atMost: number): Promise<number>;
  /**
   * Starts or restarts the deliveries of up to `limit` events with a position above `after`.
   * Pending and running deliveries are unchanged. Returns the position of the last of these events;
   * null if there is none.
   */
  replay(replay: Replay, after: number, limit: number, nowMs: number): Promise<number | null>;
}

/** The part of a feed to read: positions above `after` and up to `upTo`, of the given kinds. */
export interface FeedPage {
  readonly after: number;
  readonly upTo: number;
  readonly kinds: readonly WebhookKind[];
  readonly limit: number;
}

/** One event of a feed. */
export interface FeedRow {
  readonly position: number;
  readonly eventId: string;
  readonly payload: string;
}

/**
 * Events recorded from `sinceMs` (inclusive) to `untilMs` (exclusive; null: without end), in
 * milliseconds since 1970, with positions up to `upTo`.
 */
export interface Replay {
  readonly endpoint: Pick<Endpoint, "id" | "organizationId" | "serverIds">;
  readonly kinds: readonly WebhookKind[];
  readonly sinceMs: number;
  readonly untilMs: number | null;
  readonly upTo: number;
}

/** An endpoint to create. */
export type EndpointDraft = Pick<
  Endpoint,
  "id" | "organizationId" | "url" | "description" | "kinds" | "serverIds" | "secret"
>;

/**
 * Each change writes an audit entry in the same transaction. The actor of the entry is the caller
 * `by`, or for `disable` this service. The result is null if the organization has no such endpoint.
 */
export interface EndpointStore {
  /** Stores the endpoint; null if the organization already has `maxEndpoints`. */
  create(draft: EndpointDraft, maxEndpoints: number, nowMs: number, by: ChangedBy): Promise<Endpoint | null>;
  /** Oldest first. */
  list(organizationId: string): Promise<readonly Endpoint[]>;
  get(organizationId: string, endpointId: string): Promise<Endpoint | null>;
  /** Endpoints of any organization. Unknown ids are omitted. */
  find(endpointIds: readonly string[]): Promise<readonly Endpoint[]>;
  update(
    organizationId: string,
    endpointId: string,
    change: UpdateWebhookBody,
    nowMs: number,
    by: ChangedBy,
  ): Promise<Endpoint | null>;
  /** Returns whether the endpoint existed. */
  delete(organizationId: string, endpointId: string, nowMs: number, by: ChangedBy): Promise<boolean>;
  /** Replaces the secret. The previous one still signs until `previousUntilMs`. */
  rotate(
    organizationId: string,
    endpointId: string,
    secret: SealedPassword,
    previousUntilMs: number,
    nowMs: number,
    by: ChangedBy,
  ): Promise<Endpoint | null>;
  /**
   * Disables an enabled endpoint if its URL is still `url`; for the reason `failing` only if its
   * `failingSinceMs` is at or before `failingBeforeMs`. Returns whether this call disabled the
   * endpoint.
   */
  disable(
    endpoint: Pick<Endpoint, "id" | "url">,
    reason: WebhookDisabledReason,
    nowMs: number,
    failingBeforeMs: number,
  ): Promise<boolean>;
}

/**
 * The deliveries of all endpoints, and their attempts. A delivery is open while it waits for an
 * attempt or is running.
 */
export interface DeliveryStore {
  /** Endpoints with due deliveries, with the oldest due time. */
  dueEndpoints(nowMs: number): Promise<readonly DueEndpoint[]>;
  /**
   * Leases up to the given number of due deliveries per endpoint, oldest first. Skips deliveries
   * that another process is leasing.
   */
  lease(wanted: ReadonlyMap<string, number>, nowMs: number, leaseUntilMs: number): Promise<readonly LeasedDelivery[]>;
  /**
   * Writes attempts, and sets or clears `failingSinceMs` of their endpoints. An attempt changes
   * nothing if another process recorded an attempt with the same number first, or if the delivery
   * is cancelled.
   */
  record(attempts: readonly AttemptRecord[], nowMs: number): Promise<void>;
  /** Releases deliveries: they are due at once, for any process. */
  release(deliveries: readonly LeasedDelivery[], nowMs: number): Promise<void>;
  /**
   * Cancels up to `limit` open deliveries of a disabled or deleted endpoint, except running ones;
   * returns the number.
   */
  cancelOpen(endpointId: string, limit: number, nowMs: number): Promise<number>;
  /** Number of open deliveries, counted up to `atMost`. */
  countOpen(atMost: number): Promise<number>;
  /**
   * A page of the matching deliveries, newest first. The total, and pages by number, are limited to
   * MAX_LISTED_DELIVERIES.
   */
  list(
    endpointId: string,
    query: DeliveryQuery,
  ): Promise<{ readonly deliveries: readonly WebhookDelivery[]; readonly pagination: Pagination }>;
  /** Restarts a delivery, unless it is running; null if there is no such delivery. */
  redeliver(endpointId: string, deliveryId: string, nowMs: number): Promise<WebhookDelivery | null>;
}

/** An account, and the organization that it belongs to. */
export interface OwnedAccount extends AccountRef {
  readonly organizationId: string;
}

/** Events with their deliveries to the given endpoints of the organization. */
export interface EventDeliveries {
  /** Null: no such event of the organization. */
  event(
    organizationId: string,
    eventId: string,
    endpoints: readonly Pick<Endpoint, "id" | "url">[],
    nowMs: number,
  ): Promise<EventDeliveriesAnswer["event"] | null>;
  /** A page of the events of an account, newest first. */
  ofAccount(
    account: OwnedAccount,
    query: ListAccountDeliveriesQuery,
    endpoints: readonly Pick<Endpoint, "id" | "url">[],
    nowMs: number,
  ): Promise<AccountDeliveriesAnswer>;
}

/** A list of deliveries, and the current time, which decides whether a lease still runs. */
export interface DeliveryQuery extends ListDeliveriesQuery {
  readonly nowMs: number;
}

/** Daily partitions. `keep` creates those of a day, if they do not exist. `day` as YYYY-MM-DD. */
export interface DayStore {
  keep(day: string): Promise<void>;
  /** Returns the number of dropped days. */
  dropBefore(day: string): Promise<number>;
}

/** A request to a receiver. */
export interface OutgoingRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Sends to receivers. Never rejects: a failure is a reply with an error. */
export interface Sender {
  send(outgoing: OutgoingRequest): Promise<Reply>;
  /** Aborts all running requests. */
  abort(): void;
}

/** Decides which URLs an endpoint may have. */
export interface AddressGuard {
  /** Why the URL is rejected: for its text or for the addresses of its host. Null if allowed. */
  rejection(url: string): Promise<string | null>;
}
