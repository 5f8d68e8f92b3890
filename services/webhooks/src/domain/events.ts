/**
 * Maps committed events of other services to webhook events. Only fields that the schemas of the
 * messages name are copied, so no other field can leak.
 */
import {
  type AccountEvent,
  type CommandEvent,
  type CreditsEvent,
  type EventPlace,
  type FinanceEvent,
  isFinal,
  type RiskEvent,
  type WebhookEvent,
  type WebhookKind,
} from "@kapi/contracts";
import { uuidV5 } from "@kapi/kernel";

/**
 * Maximum size of a command result in an event, in characters of JSON. Larger results are read with
 * getCommand.
 */
export const MAX_RESULT_CHARACTERS = 16_384;

/** The services that number the events of an account. */
export type Source = "account" | "finance";

/** The place of an event among those of its account. */
export interface SourcePlace {
  readonly source: Source;
  /** Number among the events of its source, from 1 without a gap. */
  readonly sequence: number;
  /**
   * Sequence on the trading server: with this event, the source has published everything up to this
   * sequence. Null if unknown.
   */
  readonly through: number | null;
  /**
   * Sequence on the trading server: everything that the other source publishes up to this sequence
   * comes before this event. Null if unknown.
   */
  readonly after: number | null;
}

/** An event before it gets an account sequence and a position in the feed. */
export interface IncomingEvent {
  /** Unique among the events of all organizations. */
  readonly eventId: string;
  readonly organizationId: string;
  readonly serverId: string | null;
  readonly accountNumber: string | null;
  readonly type: WebhookKind;
  readonly timestamp: string;
  readonly record: Readonly<Record<string, unknown>>;
  /**
   * Place among the events of its account; null for events that `accountSequence` does not count.
   */
  readonly place: SourcePlace | null;
  /**
   * Deliver to this endpoint only, whatever its subscriptions; null: to every subscribed endpoint.
   */
  readonly onlyFor: string | null;
  /** The span that recorded the event, if it is sampled. */
  readonly traceparent?: string | undefined;
}

/** Maps a message of `account.events`. */
export function fromAccountEvent(event: AccountEvent): IncomingEvent {
  const { eventId, organizationId, serverId, accountNumber, type, occurredAt, accountSequence } = event;
  const common = { eventId, organizationId, serverId, accountNumber, type, timestamp: occurredAt, onlyFor: null };
  return { ...common, record: accountRecord(event), place: placeOf("account", accountSequence, event.place) };
}

function placeOf(source: Source, sequence: number, place: EventPlace | undefined): SourcePlace {
  return { source, sequence, through: place?.through ?? null, after: place?.after ?? null };
}

function accountRecord(event: AccountEvent): Readonly<Record<string, unknown>> {
  switch (event.type) {
    case "order.executed":
    case "order.cancelled":
      return event.order;
    case "position.opened":
    case "position.updated":
      return event.position;
    case "position.closed":
      return { ...event.position, dealIds: event.dealIds, openPositionCount: event.openPositionCount };
    case "deal.executed":
      return event.deal;
    case "margin.call":
    case "margin.stop_out":
      return { equity: event.equity, usedMargin: event.usedMargin, marginLevel: event.marginLevel };
    default: {
      const { accountId, version, accountName, status, leverage } = event;
      const account = { accountId, version, accountName, status, leverage };
      return event.type === "account.password_changed" ? { ...account, passwordKind: event.passwordKind } : account;
    }
  }
}

/** Maps a message of `finance.events`. */
export function fromFinanceEvent(event: FinanceEvent): IncomingEvent {
  const { eventId, organizationId, serverId, accountNumber, type, occurredAt, transaction } = event;
  const common = { eventId, organizationId, serverId, accountNumber, type, timestamp: occurredAt, onlyFor: null };
  return { ...common, record: transaction, place: placeOf("finance", transaction.sequence, event.place) };
}

/** Maps a message of `risk.events`. `accountSequence` does not count the event. */
export function fromRiskEvent(event: RiskEvent): IncomingEvent {
  const { eventId, organizationId, serverId, accountNumber, type, occurredAt } = event;
  const common = { eventId, organizationId, serverId, accountNumber, type, timestamp: occurredAt, onlyFor: null };
  return { ...common, record: event.type === "risk.evidence_stored" ? event.breach : event.alert, place: null };
}

/** Maps a message of `credits.events`. */
export function fromCreditsEvent(event: CreditsEvent): IncomingEvent {
  const { eventId, organizationId, type, occurredAt, availableCredits, lowBalanceThreshold } = event;
  return {
    eventId,
    organizationId,
    serverId: null,
    accountNumber: null,
    type,
    timestamp: occurredAt,
    record: { availableCredits, lowBalanceThreshold },
    onlyFor: null,
    place: null,
  };
}

/**
 * Maps a command's final state; null for any other state. A command has only one final state, so
 * the event id is derived from the command id and the final state.
 */
export function fromCommandEvent(event: CommandEvent): IncomingEvent | null {
  const { commandId, status, result } = event;
  if (!isFinal(status)) return null;
  const type = `command.${status}` as const;
  const { managedAccountId, operation, attempts, errorCode, errorMessage } = event;
  const resultOmitted = result !== null && JSON.stringify(result).length > MAX_RESULT_CHARACTERS;
  return {
    eventId: uuidV5(commandId, type),
    organizationId: event.organizationId,
    serverId: event.serverId,
    accountNumber: event.accountNumber,
    type,
    timestamp: event.occurredAt,
    record: {
      commandId,
      managedAccountId,
      operation,
      status,
      attempts,
      result: resultOmitted ? null : result,
      resultOmitted,
      errorCode,
      errorMessage,
      createdBy: event.createdBy ?? null,
    },
    onlyFor: null,
    place: null,
  };
}

/** A `webhook.test` event for one endpoint. */
export function testEvent(
  endpoint: { readonly id: string; readonly organizationId: string },
  eventId: string,
  timestamp: string,
): IncomingEvent {
  return {
    eventId,
    organizationId: endpoint.organizationId,
    serverId: null,
    accountNumber: null,
    type: "webhook.test",
    timestamp,
    record: { endpointId: endpoint.id },
    place: null,
    onlyFor: endpoint.id,
  };
}

/** The body that is signed and sent. */
export function payloadOf(event: IncomingEvent, accountSequence: number | null): string {
  const { type, timestamp, eventId, organizationId, serverId, accountNumber, record } = event;
  const data = { eventId, organizationId, serverId, accountNumber, accountSequence, ...record };
  return JSON.stringify({ type, timestamp, data } satisfies Record<keyof WebhookEvent, unknown>);
}
