import { uuidV5 } from "@kapi/kernel";

import { ERRORS } from "../errors.ts";
import type { AccountMetricsFrame, LiveErrorFrame, ReplayFrame } from "../live/frames.ts";
import { EXAMPLE_PARAMETERS } from "../openapi/examples.ts";
import { LIVE_LIMITS } from "./limits.ts";

/** A message on the wire, and when it occurs. */
export interface Example<P = unknown> {
  readonly name: string;
  readonly summary: string;
  readonly payload: P;
}

const { serverId, accountNumber } = EXAMPLE_PARAMETERS;
const account = { serverId, accountNumber } as const;

/** The sequences of the account that can be replayed: a full window. */
const LAST = 412;
const FIRST = LAST - LIVE_LIMITS.windowSamples + 1;

/** The id that the stream gives to the sample of this sequence of the example account. */
function exampleEventId(sequence: number): string {
  return uuidV5(serverId, `${accountNumber}/metrics/${sequence}`);
}

function sample(
  sequence: number,
  values: Omit<AccountMetricsFrame, "type" | "eventId" | "serverId" | "accountNumber" | "sequence">,
): AccountMetricsFrame {
  return { type: "account.metrics", eventId: exampleEventId(sequence), ...account, sequence, ...values };
}

function replay(notice: Omit<ReplayFrame, "type" | "serverId" | "accountNumber">): ReplayFrame {
  return { type: "account.metrics.replay", ...account, ...notice };
}

const kept = { firstAvailableSequence: FIRST, lastAvailableSequence: LAST } as const;

/**
 * Examples of the account that the OpenAPI examples also use. Sample 412 has the values that the
 * OpenAPI example of this account has.
 */
export const LIVE_EXAMPLES = {
  subscribe: [
    {
      name: "resume",
      summary: "Continues after the last sequence that was durably processed.",
      payload: { type: "subscribe", ...account, afterSequence: 409 },
    },
    {
      name: "first",
      summary: "The first subscription: the latest sample at once, then the live ones.",
      payload: { type: "subscribe", ...account },
    },
  ],
  unsubscribe: [{ name: "unsubscribe", summary: "Ends a subscription.", payload: { type: "unsubscribe", ...account } }],
  ping: [{ name: "ping", summary: "The four characters, not JSON.", payload: "ping" }],
  pong: [{ name: "pong", summary: "The four characters, not JSON.", payload: "pong" }],
  connected: [
    {
      name: "connected",
      summary: "The first message of every connection.",
      payload: { type: "connected", sessionId: "c1c3a9a4-7c1e-4f0b-9d53-3f6b1f2f7a10" },
    },
  ],
  replay: [
    {
      name: "complete",
      summary: "After `afterSequence` 409: samples 410, 411 and 412 follow, nothing is missing.",
      payload: replay({ ...kept, replayTruncated: false, replayCount: LAST - 409 }),
    },
    {
      name: "nothingMissed",
      summary: "After `afterSequence` 412: the live samples follow, from 413 on.",
      payload: replay({ ...kept, replayTruncated: false, replayCount: 0 }),
    },
    {
      name: "truncated",
      summary: `After \`afterSequence\` 98, or in the middle of the stream to a slow socket: samples 99 to ${FIRST - 1} are no longer available, ${FIRST} to ${LAST} follow.`,
      payload: replay({ ...kept, replayTruncated: true, replayCount: LIVE_LIMITS.windowSamples }),
    },
    {
      name: "ahead",
      summary: "After `afterSequence` 500, which is beyond the last sample: the live samples follow, from 413 on.",
      payload: replay({ ...kept, replayTruncated: true, replayCount: 0 }),
    },
    {
      name: "empty",
      summary: "After `afterSequence` 0 of an account without any sample: the first sample will have the sequence 1.",
      payload: replay({
        firstAvailableSequence: 1,
        lastAvailableSequence: 0,
        replayTruncated: false,
        replayCount: 0,
      }),
    },
  ],
  sample: [
    {
      name: "priceMoved",
      summary: "Prices have moved; the equity was lower for a moment within the interval.",
      payload: sample(LAST, {
        measuredAt: "2026-03-02T10:04:12.300Z",
        balance: 10_125.5,
        equity: 10_098.2,
        margin: 108.42,
        freeMargin: 9_989.78,
        marginLevel: 9_313.96,
        openPositionCount: 1,
        intervalMinimumEquity: 10_095.75,
        intervalMinimumMeasuredAt: "2026-03-02T10:04:11.900Z",
      }),
    },
    {
      name: "positionClosed",
      summary: "The last open position was closed: the sample is sent at once, and no margin is in use.",
      payload: sample(LAST + 1, {
        measuredAt: "2026-03-02T10:04:12.950Z",
        balance: 10_098.9,
        equity: 10_098.9,
        margin: 0,
        freeMargin: 10_098.9,
        marginLevel: 0,
        openPositionCount: 0,
        intervalMinimumEquity: 10_097.4,
        intervalMinimumMeasuredAt: "2026-03-02T10:04:12.600Z",
      }),
    },
  ],
  error: [
    liveError("invalidJson", "The message is no JSON.", {
      code: "INVALID_MESSAGE",
      error: "The message is not valid JSON",
    }),
    liveError("invalidField", "A field is invalid: the error repeats the server and account of the message.", {
      code: "INVALID_MESSAGE",
      error: "Invalid message: afterSequence: Too small: expected number to be >=0",
      ...account,
    }),
    liveError("accountNotFound", "There is no such account on the server.", {
      code: "ACCOUNT_NOT_FOUND",
      error: ERRORS.ACCOUNT_NOT_FOUND.text,
      serverId,
      accountNumber: "10009999",
    }),
    liveError("serverAccessDenied", "The key does not reach the server.", {
      code: "SERVER_ACCESS_DENIED",
      error: ERRORS.MISSING_SERVER_ACCESS.text.replace("<serverId>", "0197a3c2-6d20-7a10-8b3f-91c5e07d2aff"),
      serverId: "0197a3c2-6d20-7a10-8b3f-91c5e07d2aff",
      accountNumber,
    }),
    liveError("tooManySubscriptions", "The connection has all the subscriptions that it may have.", {
      code: "TOO_MANY_SUBSCRIPTIONS",
      error: `A connection has at most ${LIVE_LIMITS.subscriptionsPerSocket} subscriptions`,
      ...account,
    }),
  ],
  accountDeleted: [
    {
      name: "accountDeleted",
      summary: "The account was deleted, which ends the subscription.",
      payload: { type: "account.deleted", ...account },
    },
  ],
} as const satisfies Record<string, readonly Example[]>;

function liveError(name: string, summary: string, frame: Omit<LiveErrorFrame, "type">): Example<LiveErrorFrame> {
  return { name, summary, payload: { type: "error", ...frame } };
}
