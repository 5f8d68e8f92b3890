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

/** Spans of account events, by account key, as far as their traces are sampled. */
export type EventSpans = ReadonlyMap<string, string | undefined>;

/** Numbers account events and publishes them, as part of `transaction`. */
export type RecordEvents = (
  transaction: WorkTransaction,
  drafts: readonly AccountEventDraft[],
  spans?: EventSpans,
) => Promise<AccountEvent[]>;
