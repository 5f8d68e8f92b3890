import type { ReplayFrame } from "@kapi/contracts";

import type { AccountId } from "./sample.ts";

/**
 * The sequences of an account that can be replayed: [first, last]; `first = last + 1` if none.
 */
export interface KeptRange {
  readonly first: number;
  readonly last: number;
}

/** The kept sequences of an account whose last sample was `sequence`. */
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

/** The position of a subscriber: the next sequence to send, after the notice if there is one. */
export interface Cursor {
  readonly next: number;
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

/** The text of the replay notice. */
export function replayText(account: AccountId, replay: Replay): string {
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
