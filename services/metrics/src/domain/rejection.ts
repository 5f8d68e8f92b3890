const MINUTE_MS = 60_000;
/** Largest difference between the clocks of a trading server and of kapi, in minutes. */
const MAX_CLOCK_DIFFERENCE_MINUTES = 5;
/** Maximum age of a duplicate valuation, in minutes. */
const MAX_DUPLICATE_AGE_MINUTES = 5;
/** A valuation is rejected if its `measuredAt` is further ahead of the current time than this. */
export const MAX_CLOCK_DIFFERENCE_MS = MAX_CLOCK_DIFFERENCE_MINUTES * MINUTE_MS;
/**
 * A valuation counts as a duplicate if its `measuredAt` is at most this time before that of the
 * account's last valuation. A trading server repeats a produce request that got no answer, and a
 * valuation has no id.
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

/** A valuation that is not on the partition of its account. */
export const WRONG_PARTITION = {
  reason: "wrong_partition",
  fault: "the partition is not that of the key",
} as const;
/** A valuation of a trading server that kapi does not have. */
export const UNKNOWN_SERVER = { reason: "unknown_server", fault: "the server is unknown" } as const;
/** A valuation of an account that the account service does not have. */
export const UNKNOWN_ACCOUNT = { reason: "unknown_account", fault: "the account is unknown" } as const;
/** A valuation of a deleted account. */
export const DELETED_ACCOUNT = { reason: "deleted_account", fault: "the account was deleted" } as const;
/** A valuation measured more than {@link MAX_CLOCK_DIFFERENCE_MS} ahead. */
export const MEASURED_AHEAD = {
  reason: "measured_ahead",
  fault: `measuredAt is more than ${MAX_CLOCK_DIFFERENCE_MINUTES} minutes ahead of the database's and of this machine's clock`,
} as const;
/** A valuation measured more than {@link MAX_DUPLICATE_AGE_MS} before the account's last one. */
export const MEASURED_BEFORE = {
  reason: "measured_before",
  fault: `measuredAt is more than ${MAX_DUPLICATE_AGE_MINUTES} minutes before that of the account's last valuation`,
} as const;
/**
 * A duplicate of an earlier valuation. Duplicates are expected after an outage of Kafka, so they
 * are only counted, without a log line or a dead letter.
 */
export const DUPLICATE = {
  reason: "repeated",
  fault: "measuredAt is before that of the account's last valuation",
} as const;
