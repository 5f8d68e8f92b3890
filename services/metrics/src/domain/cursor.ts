import type { ReplayFrame } from "@kapi/contracts";

import type { AccountId } from "./sample.ts";

/**
 * The sequences of an account that can be had: [first, last]; `first = last + 1` when none is kept.
 */
export interface Kept {
  readonly first: number;
  readonly last: number;
}

/** What a replay notice says beside the account. */
export type Replay = Omit<ReplayFrame, "type" | "serverId" | "accountNumber">;

/** Where a subscriber goes on: the next sequence to send, after the notice if there is one. */
export interface Cursor {
  readonly next: number;
  readonly replay: Replay | null;
}

/**
 * Where a subscription begins (decisions, 10.1). Without `afterSequence`: at the newest sample, no
 * notice. With it: a notice, then every kept sample above it. It is truncated when samples after it
 * are gone, or when it is beyond the last one known; the live samples then follow the last one
 * known.
 */
export function openCursor(kept: Kept, afterSequence: number | undefined): Cursor {
  if (afterSequence === undefined) return { next: kept.first <= kept.last ? kept.last : kept.last + 1, replay: null };
  const beyond = afterSequence > kept.last;
  const next = beyond ? kept.last + 1 : Math.max(afterSequence + 1, kept.first);
  return { next, replay: notice(kept, next, beyond || afterSequence + 1 < kept.first) };
}

/**
 * Where a subscriber goes on that could not be sent to for a while: where it was, or, when that is
 * no longer kept, at the first sample that is, after a notice that tells of the gap
 * (decisions, 10.4).
 */
export function resumeCursor(kept: Kept, next: number): Cursor {
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

function notice(kept: Kept, next: number, replayTruncated: boolean): Replay {
  return {
    firstAvailableSequence: kept.first,
    lastAvailableSequence: kept.last,
    replayTruncated,
    replayCount: kept.last - next + 1,
  };
}
