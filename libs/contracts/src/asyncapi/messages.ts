import { z } from "zod";

import {
  AccountDeletedFrame,
  AccountMetricsFrame,
  ConnectedFrame,
  LiveErrorFrame,
  ReplayFrame,
  SubscribeMessage,
  UnsubscribeMessage,
} from "../live/frames.ts";
import { type Example, LIVE_EXAMPLES } from "./examples.ts";
import { LIVE_LIMITS } from "./limits.ts";

/** A message of the live stream. */
export interface LiveMessage {
  readonly from: "client" | "server";
  readonly schema: z.ZodType;
  /** Its `type` on the wire, or the whole text where it is no JSON. */
  readonly name: string;
  readonly title: string;
  /** Markdown. */
  readonly text: string;
  readonly examples: readonly Example[];
  /** Names of the messages that may answer it. */
  readonly replies?: readonly string[];
}

/** Every message, by its name in the document. */
export const LIVE_MESSAGES = {
  subscribe: {
    from: "client",
    schema: SubscribeMessage,
    name: "subscribe",
    title: "Subscribe to an account",
    text: "Begins the account's samples, or begins them again: subscribing twice restarts the subscription at the new place. With `afterSequence` a replay notice comes first, always.",
    examples: LIVE_EXAMPLES.subscribe,
    replies: ["replay", "sample", "error"],
  },
  unsubscribe: {
    from: "client",
    schema: UnsubscribeMessage,
    name: "unsubscribe",
    title: "Unsubscribe from an account",
    text: "Ends the account's samples. Not answered; samples that are on their way may still come.",
    examples: LIVE_EXAMPLES.unsubscribe,
  },
  ping: {
    from: "client",
    schema: z.literal("ping"),
    name: "ping",
    title: "Ping",
    text: "Asks for a `pong`, where a client cannot send WebSocket pings.",
    examples: LIVE_EXAMPLES.ping,
    replies: ["pong"],
  },
  pong: {
    from: "server",
    schema: z.literal("pong"),
    name: "pong",
    title: "Pong",
    text: "Answers a `ping`.",
    examples: LIVE_EXAMPLES.pong,
  },
  connected: {
    from: "server",
    schema: ConnectedFrame,
    name: "connected",
    title: "Connected",
    text: "The first message of every connection.",
    examples: LIVE_EXAMPLES.connected,
  },
  replay: {
    from: "server",
    schema: ReplayFrame,
    name: "account.metrics.replay",
    title: "Replay notice",
    text: "Comes before replayed samples: whenever `afterSequence` was given, also with nothing to replay; and in the middle of the stream, then always with `replayTruncated: true`, where samples have fallen out of the window before a slow connection took them. The next sample has the sequence `lastAvailableSequence - replayCount + 1`.",
    examples: LIVE_EXAMPLES.replay,
  },
  sample: {
    from: "server",
    schema: AccountMetricsFrame,
    name: "account.metrics",
    title: "Sample",
    text: `What the account is worth. At most one in ${LIVE_LIMITS.coalescingMs / 1_000} s where only prices have moved, at once where the balance or the number of open positions has changed, none where nothing has. The bytes are the same for everyone, also when replayed.`,
    examples: LIVE_EXAMPLES.sample,
  },
  error: {
    from: "server",
    schema: LiveErrorFrame,
    name: "error",
    title: "Error",
    text: "A message could not be done, or access to a server was taken away. The connection and its other subscriptions stay. `serverId` and `accountNumber` are those of the message, where it had them.",
    examples: LIVE_EXAMPLES.error,
  },
  accountDeleted: {
    from: "server",
    schema: AccountDeletedFrame,
    name: "account.deleted",
    title: "Account deleted",
    text: "The account was deleted: its subscription has ended, and subscribing again is answered `ACCOUNT_NOT_FOUND`.",
    examples: LIVE_EXAMPLES.accountDeleted,
  },
} as const satisfies Record<string, LiveMessage>;
