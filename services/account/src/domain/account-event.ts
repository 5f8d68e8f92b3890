import type { WorkTransaction } from "@kapi/commands";
import type { AccountEvent, EventPlace } from "@kapi/contracts";

/** The place of `account.created`, the first event of every account (libs/trading-server). */
export const CREATED_PLACE: EventPlace = { through: 1, after: 0 };

/**
 * An account event before it is numbered. Without a place, it comes after all booked trading
 * events.
 */
export type AccountEventDraft = DraftOf<AccountEvent>;
type DraftOf<Event> = Event extends AccountEvent
  ? Omit<Event, "eventId" | "organizationId" | "accountSequence">
  : never;

/**
 * The span that each account's events belong to, as `traceparent` by account key; undefined if its
 * trace is not sampled.
 */
export type EventSpans = ReadonlyMap<string, string | undefined>;

/**
 * Numbers account events and publishes them, as part of `transaction`. Returns the numbered events.
 */
export type RecordEvents = (
  transaction: WorkTransaction,
  drafts: readonly AccountEventDraft[],
  spans?: EventSpans,
) => Promise<AccountEvent[]>;
