import { z } from "zod";

import { Currency, DateTime } from "../values.ts";
import { Position } from "./history.ts";

/**
 * Maximum number of positions of an account's state. Platforms allow an account some hundred open
 * positions.
 */
export const MAX_STATE_POSITIONS = 5_000;

/** Query of getAccountState. Everything within the millisecond `at` is in the state. */
export const AccountStateQuery = z.object({ at: DateTime });
export type AccountStateQuery = z.infer<typeof AccountStateQuery>;

/**
 * A position that was open at a time. Volumes in lots: `volume` was opened, `closedVolume` was
 * closed by that time; the difference was still open.
 */
export const OpenPosition = Position.omit({ status: true, closedAt: true });
export type OpenPosition = z.infer<typeof OpenPosition>;

/** The equity of the last stored snapshot at or before a time, in units of currency. */
export const StoredEquity = z.object({
  value: z.number(),
  /**
   * Start of the minute in which the equity was measured. This minute had ended by the time of the
   * state.
   */
  measuredAt: z.iso.datetime(),
  /**
   * Milliseconds from `measuredAt` to the time of the state. The equity may be up to a minute
   * younger, because `measuredAt` is the start of its minute.
   */
  ageMs: z.int().min(0),
});
export type StoredEquity = z.infer<typeof StoredEquity>;

/** An account as it was at a time. Money in units of currency. */
export const AccountState = z.object({
  serverId: z.guid(),
  accountNumber: z.string(),
  at: z.iso.datetime(),
  currency: Currency,
  /** From the ledger. */
  balance: z.number(),
  /** The number of positions that were open, also of those that are not in `positions`. */
  positionCount: z.int().min(0),
  /** The positions that were open, newest first; at most {@link MAX_STATE_POSITIONS}. */
  positions: z.array(OpenPosition),
  /** Null without a snapshot, or if it is no longer kept. */
  equity: StoredEquity.nullable(),
});
export type AccountState = z.infer<typeof AccountState>;

/** Answer of getAccountState. */
export const AccountStateAnswer = z.object({ state: AccountState });
