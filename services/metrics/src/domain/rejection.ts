const MINUTE_MS = 60_000;
/** Largest difference between the clocks of a trading server and of kapi, in minutes. */
const MAX_CLOCK_DIFFERENCE_MINUTES = 5;
/** Maximum age of a duplicate valuation, in minutes. */
const MAX_DUPLICATE_AGE_MINUTES = 5;
export const MAX_CLOCK_DIFFERENCE_MS = MAX_CLOCK_DIFFERENCE_MINUTES * MINUTE_MS;
/**
 * A valuation measured at most this long before the account's last one counts as a duplicate: a
 * trading server repeats a produce request that got no answer, and a valuation has no id.
 */
export const MAX_DUPLICATE_AGE_MS = MAX_DUPLICATE_AGE_MINUTES * MINUTE_MS;

/** Why a valuation is not used: the attribute `reason` of `metrics.valuations.rejected`. */
export type RejectionReason =
  | "malformed"
  | "wrong_key"
  | "wrong_partition"
  | "unknown_server"
  | "unknown_account"
  | "deleted_account"
  | "measured_ahead"
  | "measured_before"
  | "repeated";

/** The rejection of a valuation. */
export interface Rejection {
  readonly reason: RejectionReason;
  /** The text for the log and the dead letter. */
  readonly fault: string;
}

export const WRONG_PARTITION = {
  reason: "wrong_partition",
  fault: "the partition is not that of the key",
} as const;
export const UNKNOWN_SERVER = { reason: "unknown_server", fault: "the server is unknown" } as const;
export const UNKNOWN_ACCOUNT = { reason: "unknown_account", fault: "the account is unknown" } as const;
export const DELETED_ACCOUNT = { reason: "deleted_account", fault: "the account was deleted" } as const;
export const MEASURED_AHEAD = {
  reason: "measured_ahead",
  fault: `measuredAt is more than ${MAX_CLOCK_DIFFERENCE_MINUTES} minutes ahead of the database's and of this machine's clock`,
} as const;
export const MEASURED_BEFORE = {
  reason: "measured_before",
  fault: `measuredAt is more than ${MAX_DUPLICATE_AGE_MINUTES} minutes before that of the account's last valuation`,
} as const;
/** Expected after an outage of Kafka, so only counted: no log line and no dead letter. */
export const DUPLICATE = {
  reason: "repeated",
  fault: "measuredAt is before that of the account's last valuation",
} as const;
