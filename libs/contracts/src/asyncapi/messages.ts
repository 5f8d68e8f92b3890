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
  /** The `type` of the message on the wire, or the whole text of a message that is not JSON. */
  readonly name: string;
  readonly title: string;
  /** Markdown. */
  readonly text: string;
  readonly examples: readonly Example[];
  /** Ids of the messages with which the server may answer this message. */
  readonly replies?: readonly string[];
}

/** Every message, by its id: its key in the document. */
export const LIVE_MESSAGES = {
  subscribe: {
    from: "client",
    schema: SubscribeMessage,
    name: "subscribe",
    title: "Subscribe to an account",
    text: "Starts the samples of an account. A second subscription to the same account restarts the samples: after the new `afterSequence`, or without it at the latest sample. With `afterSequence` a replay notice always comes first.",
    examples: LIVE_EXAMPLES.subscribe,
    replies: ["replay", "sample", "error"],
  },
  unsubscribe: {
    from: "client",
    schema: UnsubscribeMessage,
    name: "unsubscribe",
    title: "Unsubscribe from an account",
    text: "Ends the samples of an account. A valid message gets no answer. Samples already on their way may still arrive.",
    examples: LIVE_EXAMPLES.unsubscribe,
  },
  ping: {
    from: "client",
    schema: z.literal("ping"),
    name: "ping",
    title: "Ping",
    text: "Requests a `pong`, for clients that cannot send WebSocket pings.",
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
    text: "Sent before replayed samples whenever `afterSequence` was given, also with nothing to replay. Also sent in the middle of the stream, always with `replayTruncated: true`, if samples left the window before a slow connection read them. The next sample has the sequence `lastAvailableSequence - replayCount + 1`.",
    examples: LIVE_EXAMPLES.replay,
  },
  sample: {
    from: "server",
    schema: AccountMetricsFrame,
    name: "account.metrics",
    title: "Sample",
    text: `The values of an account. At most one per ${LIVE_LIMITS.coalescingMs / 1_000} s if only prices have moved, at once if the balance or the number of open positions has changed, none if nothing has. Every subscriber gets the same bytes, also when replayed.`,
    examples: LIVE_EXAMPLES.sample,
  },
  error: {
    from: "server",
    schema: LiveErrorFrame,
    name: "error",
    title: "Error",
    text: "A message was rejected, or access to a server was removed. The connection and its other subscriptions stay. `serverId` and `accountNumber` are those of the message, if it had them, or of the subscription that ended.",
    examples: LIVE_EXAMPLES.error,
  },
  accountDeleted: {
    from: "server",
    schema: AccountDeletedFrame,
    name: "account.deleted",
    title: "Account deleted",
    text: "The account was deleted: its subscription has ended, and a new one returns `ACCOUNT_NOT_FOUND`.",
    examples: LIVE_EXAMPLES.accountDeleted,
  },
} as const satisfies Record<string, LiveMessage>;
