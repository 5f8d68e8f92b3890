/**
 * What other services have committed → what receivers are told. Only named fields go on: nothing
 * else can leave.
 */
import {
  type AccountFact,
  type CommandEvent,
  type CreditsFact,
  type FactPlace,
  type FinanceFact,
  isFinal,
  type WebhookEvent,
  type WebhookKind,
} from "@kapi/contracts";
import { uuidV5 } from "@kapi/kernel";

/**
 * Largest result of a command that an event carries, in characters of JSON; a larger one is read
 * with getCommand.
 */
export const MAX_RESULT_CHARACTERS = 16_384;

/** The services that number facts of an account. */
export type Source = "account" | "finance";

/** Where a fact stands among those of its account. */
export interface SourcePlace {
  readonly source: Source;
  /** Among those of its source, from 1 without a gap. */
  readonly sequence: number;
  /**
   * With it, its source has announced everything up to this event of the trading server; null: not
   * known.
   */
  readonly through: number | null;
  /**
   * Everything that the other source announces up to this event of the trading server comes first;
   * null: not known.
   */
  readonly after: number | null;
}

/** An event before it has a place in its account and in its organization's feed. */
export interface IncomingEvent {
  readonly eventId: string;
  readonly organizationId: string;
  readonly serverId: string | null;
  readonly accountNumber: string | null;
  readonly type: WebhookKind;
  readonly timestamp: string;
  readonly record: Readonly<Record<string, unknown>>;
  /**
   * Where it stands among the facts of its account; null for what `accountSequence` does not count.
   */
  readonly place: SourcePlace | null;
  /** The one endpoint that it is for, whatever that one takes; null: all that take it. */
  readonly onlyFor: string | null;
  /** The span that it was taken in beneath, where that is recorded. */
  readonly traceparent?: string | undefined;
}

/** A fact of `account.events`. */
export function fromAccountFact(fact: AccountFact): IncomingEvent {
  const { eventId, organizationId, serverId, accountNumber, type, occurredAt, accountSequence } = fact;
  const common = { eventId, organizationId, serverId, accountNumber, type, timestamp: occurredAt, onlyFor: null };
  return { ...common, record: accountRecord(fact), place: placeOf("account", accountSequence, fact.place) };
}

function placeOf(source: Source, sequence: number, place: FactPlace | undefined): SourcePlace {
  return { source, sequence, through: place?.through ?? null, after: place?.after ?? null };
}

function accountRecord(fact: AccountFact): Readonly<Record<string, unknown>> {
  switch (fact.type) {
    case "order.executed":
    case "order.cancelled":
      return fact.order;
    case "position.opened":
    case "position.updated":
      return fact.position;
    case "position.closed":
      return { ...fact.position, dealIds: fact.dealIds, openPositionCount: fact.openPositionCount };
    case "deal.executed":
      return fact.deal;
    case "margin.call":
    case "margin.stop_out":
      return { equity: fact.equity, usedMargin: fact.usedMargin, marginLevel: fact.marginLevel };
    default: {
      const { accountId, version, accountName, status, leverage } = fact;
      const account = { accountId, version, accountName, status, leverage };
      return fact.type === "account.password_changed" ? { ...account, passwordKind: fact.passwordKind } : account;
    }
  }
}

/** A fact of `finance.events`. */
export function fromFinanceFact(fact: FinanceFact): IncomingEvent {
  const { eventId, organizationId, serverId, accountNumber, type, occurredAt, transaction } = fact;
  const common = { eventId, organizationId, serverId, accountNumber, type, timestamp: occurredAt, onlyFor: null };
  return { ...common, record: transaction, place: placeOf("finance", transaction.sequence, fact.place) };
}

/** A fact of `credits.events`. */
export function fromCreditsFact(fact: CreditsFact): IncomingEvent {
  const { eventId, organizationId, type, occurredAt, availableCredits, lowBalanceThreshold } = fact;
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
 * The end of a command; null for a state that is not its end. A command ends once, so its id and
 * end name the event.
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

/** A `webhook.test` for one endpoint. */
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

/** The text that is signed and sent. */
export function payloadOf(event: IncomingEvent, accountSequence: number | null): string {
  const { type, timestamp, eventId, organizationId, serverId, accountNumber, record } = event;
  const data = { eventId, organizationId, serverId, accountNumber, accountSequence, ...record };
  return JSON.stringify({ type, timestamp, data } satisfies Record<keyof WebhookEvent, unknown>);
}
