import type { ReplayFrame, AccountRef } from "@kapi/contracts";

/**
 * The sequences of an account that can be replayed: [first, last]; `first = last + 1` if none.
 */
export interface KeptRange {
  readonly first: number;
  readonly last: number;
}

/** Returns the sequences that an account's window keeps; `sequence` is that of its last sample. */
export function keptRange({
  sequence,
  window,
}: {
  readonly sequence: number;
  readonly window: { readonly first: number; readonly last: number };
}): KeptRange {
  const { first, last } = window;
  return first <= last ? { first, last } : { first: sequence + 1, last: sequence };
}

/** The content of a replay notice, without the account. */
export type Replay = Omit<ReplayFrame, "type" | "serverId" | "accountNumber">;

/** The position of a subscriber in the window of an account. */
export interface Cursor {
  /** The next sequence to send. */
  readonly next: number;
  /** The replay notice to send before it; null: none. */
  readonly replay: Replay | null;
}

/**
 * The start of a subscription (decisions, 10.1). Without `afterSequence`: the newest sample, no
 * notice. With `afterSequence`: a notice, then every kept sample above it. The replay is truncated
 * if samples above `afterSequence` are no longer kept, or if `afterSequence` is above the last
 * sequence. Live samples follow.
 */
export function openCursor(kept: KeptRange, afterSequence: number | undefined): Cursor {
  if (afterSequence === undefined) return { next: kept.first <= kept.last ? kept.last : kept.last + 1, replay: null };
  const beyond = afterSequence > kept.last;
  const next = beyond ? kept.last + 1 : Math.max(afterSequence + 1, kept.first);
  return { next, replay: notice(kept, next, beyond || afterSequence + 1 < kept.first) };
}

/**
 * Resumes a subscriber after a stall, at its sequence. If that sequence is no longer kept, a notice
 * reports the gap, and the first kept sample follows (decisions, 10.4).
 */
export function resumeCursor(kept: KeptRange, next: number): Cursor {
  if (next >= kept.first) return { next, replay: null };
  return { next: kept.first, replay: notice(kept, kept.first, true) };
}

/** Encodes a replay notice as the text of a message. */
export function replayText(account: AccountRef, replay: Replay): string {
  const frame: ReplayFrame = {
    type: "account.metrics.replay",
    serverId: account.serverId,
    accountNumber: account.accountNumber,
    ...replay,
  };
  return JSON.stringify(frame);
}

function notice(kept: KeptRange, next: number, replayTruncated: boolean): Replay {
  return {
    firstAvailableSequence: kept.first,
    lastAvailableSequence: kept.last,
    replayTruncated,
    replayCount: kept.last - next + 1,
  };
}
