/**
 * The documents of the live stream show messages that this service sends, and its limits.
 */
import { LIVE_LIMITS, LIVE_MESSAGES } from "@kapi/contracts/asyncapi";
import { minorFromAmount } from "@kapi/kernel";
import { describe, expect, it } from "vitest";

import { ConfigSchema } from "../src/config.ts";
import { type KeptRange, openCursor, replayText, resumeCursor } from "../src/domain/cursor.ts";
import { encodeLiveFrame } from "../src/domain/codec/live-frame.ts";
import { messageFromWire } from "../src/inbound/ws/client-messages.ts";
import { CHECK_INTERVAL_MS, MAX_MESSAGE_BYTES, PING_INTERVAL_MS } from "../src/inbound/ws/live-server.ts";
import { MAX_UNANSWERED_PINGS } from "../src/inbound/ws/live-socket.ts";
import { MAX_SAMPLES, WINDOW_MS } from "../src/service.ts";

const [{ payload: known }] = LIVE_MESSAGES.replay.examples;
const account = { serverId: known.serverId, accountNumber: known.accountNumber };
const full: KeptRange = { first: known.firstAvailableSequence, last: known.lastAvailableSequence };

function shown(name: string): string {
  return JSON.stringify(LIVE_MESSAGES.replay.examples.find((example) => example.name === name)?.payload);
}

function noticeAfter(afterSequence: number, kept: KeptRange): string {
  const { replay } = openCursor(kept, afterSequence);
  return replay === null ? "" : replayText(account, replay);
}

function minor(amount: number): number {
  return minorFromAmount(amount) ?? Number.NaN;
}

describe("the documents of the live stream", () => {
  it.each(LIVE_MESSAGES.sample.examples.map(({ payload }) => payload))(
    "show sample $sequence byte for byte, with its event id",
    (payload) => {
      const sample = {
        range: { sequence: payload.sequence, from: 0, to: 1 },
        values: {
          balanceMinor: minor(payload.balance),
          equityMinor: minor(payload.equity),
          marginMinor: minor(payload.margin),
          freeMarginMinor: minor(payload.freeMargin),
          marginLevel: payload.marginLevel,
          openPositionCount: payload.openPositionCount,
        },
        measuredAt: payload.measuredAt,
        minimum: {
          equityMinor: minor(payload.intervalMinimumEquity),
          measuredAt: payload.intervalMinimumMeasuredAt,
        },
      };
      expect(encodeLiveFrame(payload, sample).toString()).toBe(JSON.stringify(payload));
    },
  );

  it("show the replay notices of the described cases", () => {
    expect(noticeAfter(409, full)).toBe(shown("complete"));
    expect(noticeAfter(412, full)).toBe(shown("nothingMissed"));
    expect(noticeAfter(98, full)).toBe(shown("truncated"));
    expect(noticeAfter(500, full)).toBe(shown("ahead"));
    expect(noticeAfter(0, { first: 1, last: 0 })).toBe(shown("empty"));
    const slow = resumeCursor(full, 99).replay;
    expect(slow === null ? "" : replayText(account, slow)).toBe(shown("truncated"));
  });

  it.each([409, 412, 98, 500])(
    "have a correct formula for the next sequence after afterSequence %d",
    (afterSequence) => {
      // The documents give this formula: lastAvailableSequence - replayCount + 1.
      const { next, replay } = openCursor(full, afterSequence);
      expect((replay?.lastAvailableSequence ?? 0) - (replay?.replayCount ?? 0) + 1).toBe(next);
    },
  );

  it("show the errors of invalid messages", () => {
    const errors = LIVE_MESSAGES.error.examples.map(({ payload }) => payload);
    const answerTo = (text: string) => messageFromWire(Buffer.from(text), false);
    expect(answerTo("{")).toEqual({ kind: "invalid", frame: errors[0] });
    const negative = { type: "subscribe", ...account, afterSequence: -1 };
    expect(answerTo(JSON.stringify(negative))).toEqual({ kind: "invalid", frame: errors[1] });
  });

  it("name the default limits", () => {
    const settings = Object.entries(ConfigSchema.shape).flatMap(([name, field]) => {
      const parsed = field.safeParse(undefined);
      return parsed.success ? [[name, parsed.data] as const] : [];
    });
    expect(Object.fromEntries(settings)).toMatchObject({
      COALESCE_MS: LIVE_LIMITS.coalescingMs,
      MAX_SOCKETS_PER_ORGANIZATION: LIVE_LIMITS.socketsPerOrganization,
      MAX_SUBSCRIPTIONS_PER_SOCKET: LIVE_LIMITS.subscriptionsPerSocket,
      MAX_MESSAGES_PER_SECOND: LIVE_LIMITS.messagesPerSecond,
      STUCK_TIMEOUT_MS: LIVE_LIMITS.slowConsumerSeconds * 1_000,
    });
  });

  it("name the limits that are not settings", () => {
    const { messageBytes, windowSamples, windowSeconds, pingIntervalSeconds, unansweredPings } = LIVE_LIMITS;
    expect(messageBytes).toBe(MAX_MESSAGE_BYTES);
    expect(windowSamples).toBe(MAX_SAMPLES);
    expect(windowSeconds * 1_000).toBe(WINDOW_MS);
    expect(pingIntervalSeconds * 1_000).toBe(PING_INTERVAL_MS);
    expect(unansweredPings).toBe(MAX_UNANSWERED_PINGS);
    // A process checks its sockets once per interval. The documented time has at least one interval
    // more, for the revocation to reach the process.
    expect(LIVE_LIMITS.revocationSeconds * 1_000).toBeGreaterThanOrEqual(2 * CHECK_INTERVAL_MS);
  });
});
