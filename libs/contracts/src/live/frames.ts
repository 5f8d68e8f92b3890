import { z } from "zod";

/** First message after a connect (interface, "Live-metrics WebSocket"). */
export const ConnectedFrame = z.object({ type: z.literal("connected"), sessionId: z.uuid() });
export type ConnectedFrame = z.infer<typeof ConnectedFrame>;

const Account = { serverId: z.guid().toLowerCase(), accountNumber: z.string().min(4).max(32) };

export const SubscribeMessage = z.object({
  type: z.literal("subscribe"),
  ...Account,
  afterSequence: z.int().min(0).optional(),
});
export type SubscribeMessage = z.infer<typeof SubscribeMessage>;

export const UnsubscribeMessage = z.object({ type: z.literal("unsubscribe"), ...Account });
export type UnsubscribeMessage = z.infer<typeof UnsubscribeMessage>;

/** What a client may send besides the text `ping`. */
export const ClientMessage = z.discriminatedUnion("type", [SubscribeMessage, UnsubscribeMessage]);
export type ClientMessage = z.infer<typeof ClientMessage>;

/**
 * First message of a subscription with `afterSequence`, also if no sample is replayed (decisions,
 * 10.1). Also sent if samples left the window before a slow socket read them.
 */
export const ReplayFrame = z.object({
  type: z.literal("account.metrics.replay"),
  serverId: z.guid(),
  accountNumber: z.string(),
  firstAvailableSequence: z.int(),
  lastAvailableSequence: z.int(),
  replayTruncated: z.boolean(),
  replayCount: z.int().min(0),
});
export type ReplayFrame = z.infer<typeof ReplayFrame>;

/** One sample; money in units of currency, `marginLevel` in percent (0 with no margin in use). */
export const AccountMetricsFrame = z.object({
  type: z.literal("account.metrics"),
  eventId: z.uuid(),
  serverId: z.guid(),
  accountNumber: z.string(),
  sequence: z.int().min(1),
  measuredAt: z.iso.datetime(),
  balance: z.number(),
  equity: z.number(),
  margin: z.number(),
  freeMargin: z.number(),
  marginLevel: z.number(),
  openPositionCount: z.int().min(0),
  intervalMinimumEquity: z.number(),
  intervalMinimumMeasuredAt: z.iso.datetime(),
});
export type AccountMetricsFrame = z.infer<typeof AccountMetricsFrame>;

export const LIVE_ERROR_CODES = [
  "INVALID_MESSAGE",
  "ACCOUNT_NOT_FOUND",
  "SERVER_ACCESS_DENIED",
  "TOO_MANY_SUBSCRIPTIONS",
] as const;

export const LiveErrorFrame = z.object({
  type: z.literal("error"),
  code: z.enum(LIVE_ERROR_CODES),
  error: z.string(),
  serverId: z.string().optional(),
  accountNumber: z.string().optional(),
});
export type LiveErrorFrame = z.infer<typeof LiveErrorFrame>;

export const AccountDeletedFrame = z.object({
  type: z.literal("account.deleted"),
  serverId: z.guid(),
  accountNumber: z.string(),
});
export type AccountDeletedFrame = z.infer<typeof AccountDeletedFrame>;

/** Close codes of the live stream (decisions, 10.3). */
export const LIVE_CLOSE_CODES = { restart: 1012, keyRevoked: 4401, slowConsumer: 4408, messageTooLarge: 4413 } as const;
