import type {
  DeliveryStatus,
  UpdateWebhookBody,
  WebhookDelivery,
  WebhookDisabledReason,
  WebhookKind,
} from "@kapi/contracts";
import type { SealedPassword } from "@kapi/kernel";

import type { Reply, Verdict } from "./attempt.ts";
import type { ChangedBy } from "./audit.ts";
import type { Endpoint } from "./endpoint.ts";
import type { IncomingEvent } from "./facts.ts";
import type { MissingEvents } from "./source-order.ts";

/** Names a delivery: `day` is that of its event, as YYYY-MM-DD. */
export interface DeliveryName {
  readonly day: string;
  readonly endpointId: string;
  readonly id: string;
}

/** A delivery that this process has taken up. */
export interface Leased extends DeliveryName {
  readonly organizationId: string;
  readonly eventId: string;
  /** The text to sign and send. */
  readonly payload: string;
  /** Attempts of all time before the next one. */
  readonly attemptCount: number;
  /** Failed attempts since it was begun. */
  readonly step: number;
  /** The span that its event was taken in beneath, where that is recorded. */
  readonly traceparent?: string | undefined;
  /** Milliseconds since 1970. From then on it may be another process's. */
  readonly leaseUntilMs: number;
}

/** What came of an attempt at a delivery. */
export interface Recorded {
  readonly delivery: Leased;
  readonly verdict: Verdict;
}

/** Names an endpoint of an organization. */
export interface EndpointName {
  readonly organizationId: string;
  readonly endpointId: string;
}

/** An endpoint with something to send, and since when the oldest of it is due. */
export interface DueEndpoint extends EndpointName {
  readonly dueAtMs: number;
}

export interface TakenIn {
  /** How many of the events were recorded now. */
  readonly recorded: number;
  /** Deliveries that are this process's from their beginning. */
  readonly leased: readonly Leased[];
  /** Endpoints for which there is more than that. */
  readonly more: readonly EndpointName[];
  /** Events that are older than the recorded ones of their account and did not arrive. */
  readonly missing: readonly MissingEvents[];
}

/** What this process can take up now. */
export interface Room {
  /** Whether there is room for one more delivery to this endpoint; if so, it is counted. */
  take(endpoint: EndpointName): boolean;
}

export interface EventStore {
  /**
   * Records events that are not there yet, each with its place in feed and account, and a delivery
   * to every endpoint that takes it, in one transaction. Deliveries that there is room for are
   * leased until `leaseUntilMs`.
   */
  takeIn(events: readonly IncomingEvent[], openRoom: () => Room, nowMs: number, leaseUntilMs: number): Promise<TakenIn>;
  /**
   * Events that have waited for an older one of their account for too long, `limit` at most;
   * `takeIn` records them.
   */
  overdue(limit: number): Promise<readonly IncomingEvent[]>;
  /** Whether any enabled endpoint asks for events of commands. */
  commandsAreAsked(): Promise<boolean>;
  /** Position of the organization's newest event; 0: none. */
  lastPosition(organizationId: string): Promise<number>;
  /** Position of the oldest kept event behind `after`; null: none. */
  firstPositionAfter(organizationId: string, after: number): Promise<number | null>;
  /** Events with a position above `after` and up to `upTo`, in order, `limit` at most. */
  list(organizationId: string, page: FeedPage): Promise<readonly FeedRow[]>;
  /** How many events a replay has, counted up to `atMost`. */
  countForReplay(replay: Replay, atMost: number): Promise<number>;
  /**
   * Begins deliveries of `replay` (again) but those that are under way, for up to `limit` events
   * behind `after`; the last position, or null at the end.
   */
  replay(replay: Replay, after: number, limit: number, nowMs: number): Promise<number | null>;
}

export interface FeedPage {
  readonly after: number;
  readonly upTo: number;
  readonly kinds: readonly WebhookKind[];
  readonly limit: number;
}

export interface FeedRow {
  readonly position: number;
  readonly eventId: string;
  readonly payload: string;
}

/** Events that were recorded from `sinceMs` to before `untilMs` (milliseconds since 1970). */
export interface Replay {
  readonly endpoint: Pick<Endpoint, "id" | "organizationId" | "serverIds">;
  readonly kinds: readonly WebhookKind[];
  readonly sinceMs: number;
  readonly untilMs: number;
}

/** An endpoint before it is kept. */
export type EndpointDraft = Pick<
  Endpoint,
  "id" | "organizationId" | "url" | "description" | "kinds" | "serverIds" | "secret"
>;

/** Each change is recorded for the audit log in its transaction, with who asks for it. */
export interface EndpointStore {
  /** Keeps the endpoint; null where the organization has `most` already. */
  create(draft: EndpointDraft, most: number, nowMs: number, by: ChangedBy): Promise<Endpoint | null>;
  /** Oldest first. */
  list(organizationId: string): Promise<readonly Endpoint[]>;
  get(organizationId: string, endpointId: string): Promise<Endpoint | null>;
  /** Of any organization; those that are not there are left out. */
  find(endpointIds: readonly string[]): Promise<readonly Endpoint[]>;
  update(
    organizationId: string,
    endpointId: string,
    change: UpdateWebhookBody,
    nowMs: number,
    by: ChangedBy,
  ): Promise<Endpoint | null>;
  /** Whether it was there. */
  delete(organizationId: string, endpointId: string, nowMs: number, by: ChangedBy): Promise<boolean>;
  /** `secret` takes the place of the present one, which signs along until `previousUntilMs`. */
  rotate(
    organizationId: string,
    endpointId: string,
    secret: SealedPassword,
    previousUntilMs: number,
    nowMs: number,
    by: ChangedBy,
  ): Promise<Endpoint | null>;
  /**
   * Whether it was enabled until now. As `failing` only if it has failed since before
   * `failingBeforeMs`.
   */
  disable(endpointId: string, reason: WebhookDisabledReason, nowMs: number, failingBeforeMs: number): Promise<boolean>;
}

export interface DeliveryStore {
  /** Endpoints of which something is due, with the oldest due time. */
  dueEndpoints(nowMs: number): Promise<readonly DueEndpoint[]>;
  /**
   * Takes up to `room` due deliveries of each endpoint, the longest due first; those that another
   * process takes are left to it.
   */
  lease(wanted: ReadonlyMap<string, number>, nowMs: number, leaseUntilMs: number): Promise<readonly Leased[]>;
  /**
   * Writes attempts; one whose delivery was meanwhile recorded by another process, or cancelled,
   * changes nothing.
   */
  record(attempts: readonly Recorded[], nowMs: number): Promise<void>;
  /** Gives deliveries back: due at once, for whoever takes them. */
  release(deliveries: readonly Leased[], nowMs: number): Promise<void>;
  /**
   * Cancels up to `limit` open deliveries of an endpoint that is not enabled, or not there; how
   * many.
   */
  cancelOpen(endpointId: string, limit: number, nowMs: number): Promise<number>;
  /** Open deliveries, counted up to `atMost`. */
  countOpen(atMost: number): Promise<number>;
  /**
   * A page of the newest deliveries that match, and how many match; both up to
   * MAX_LISTED_DELIVERIES.
   */
  list(
    endpointId: string,
    query: DeliveryQuery,
  ): Promise<{ readonly deliveries: readonly WebhookDelivery[]; readonly total: number }>;
  /** Begins a delivery again, unless it is under way; null where there is none. */
  redeliver(endpointId: string, deliveryId: string, nowMs: number): Promise<WebhookDelivery | null>;
}

export interface DeliveryQuery {
  readonly page: number;
  readonly limit: number;
  readonly status: DeliveryStatus | null;
  readonly type: WebhookKind | null;
  readonly nowMs: number;
}

/** Partitions by day. `day` as YYYY-MM-DD. */
export interface DayStore {
  keep(day: string): Promise<void>;
  /** How many days went. */
  dropBefore(day: string): Promise<number>;
}

/** What is sent to a receiver. */
export interface Outgoing {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Sends to receivers. Never rejects: what goes wrong is a reply with an error. */
export interface Sender {
  send(outgoing: Outgoing): Promise<Reply>;
  /** Ends everything that is under way. */
  breakOff(): void;
}

/** Says whether an address may be an endpoint's. */
export interface AddressGuard {
  /** Null, or why not; names are resolved. */
  refusal(url: string): Promise<string | null>;
}
