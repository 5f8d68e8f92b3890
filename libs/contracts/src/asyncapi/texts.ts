import type {
  AccountMetricsFrame,
  ConnectedFrame,
  LIVE_CLOSE_CODES,
  LiveErrorFrame,
  ReplayFrame,
  SubscribeMessage,
} from "../live/frames.ts";
import { DEFAULT_PRICES } from "../prices.ts";
import { LIVE_LIMITS } from "./limits.ts";

const KIB = 1_024;

/** The introduction of the document, in Markdown. */
export const INTRODUCTION = `
Live valuations of your trading accounts over one WebSocket, for your own backend: subscribe to accounts, and get every
sample of each account, numbered without a gap. Missed samples are replayed, or reported as no longer available.

The document describes the server: it *receives* what your client sends, and *sends* what your client gets.

## Frames

Every message is one text frame with a JSON object, except \`ping\` and \`pong\`, which are these four characters. Frames are
not compressed. Ignore unknown fields and types of messages: later versions may add some.

## Order

The samples of an account have the sequences 1, 2, 3, …, across all restarts. After a replay notice the next sample has the
sequence \`lastAvailableSequence - replayCount + 1\`; after a sample, the next sequence. Without \`afterSequence\` the first
sample may have any sequence. Store the sequence of a sample once you have durably processed it, and send it as
\`afterSequence\` when you reconnect.

## Credits

A connection costs ${DEFAULT_PRICES.liveConnection} credit unless your operator set another price. Messages, samples and rejected
handshakes are free.
`.trim();

export const CHANNEL_TEXT =
  "One connection for any of your accounts on all servers that the key reaches. For backends: browsers cannot send the `Authorization` header.";

export const SECURITY_TEXT =
  "`Management <API_KEY>`, sent with the handshake. The key has the form `kapi.<key_id>.<secret>` and the scope `metrics:read`.";

type FieldName =
  | keyof SubscribeMessage
  | keyof ConnectedFrame
  | keyof ReplayFrame
  | keyof AccountMetricsFrame
  | keyof LiveErrorFrame;

const MONEY = "In units of the account's currency, with two decimals.";

/** Descriptions of fields, by name. A field has the same meaning in every message. */
export const FIELD_TEXTS: Readonly<Record<FieldName, string>> = {
  type: "Kind of the message. It determines the other fields.",
  sessionId: "Names this connection in our logs.",
  serverId:
    "The trading server of the account. In any letter case in your messages, in lower case in samples and notices.",
  accountNumber: "The account's number on its server.",
  afterSequence:
    "The last sequence that you have durably processed; 0 for all available samples. Omitted: the latest sample without a replay notice, then every new sample.",
  firstAvailableSequence: "Sequence of the oldest available sample. `lastAvailableSequence + 1` if there is none.",
  lastAvailableSequence: "Sequence of the newest sample, 0 before the first.",
  replayTruncated:
    "True if samples that you have not received are no longer available, or if `afterSequence` is beyond the last sample. Reconcile before you continue.",
  replayCount: "How many samples follow before the live ones.",
  eventId: "The same for every subscriber: UUIDv5 of `<accountNumber>/metrics/<sequence>` in the namespace `serverId`.",
  sequence: "Counts the samples of the account from 1, without a gap.",
  measuredAt: "When the trading server measured the values, UTC.",
  balance: `All booked money, without open positions. ${MONEY}`,
  equity: `Balance plus unrealized profit. ${MONEY}`,
  margin: `The margin that open positions use. ${MONEY}`,
  freeMargin: `Equity less the margin in use. ${MONEY}`,
  marginLevel: "Equity in percent of the margin in use; 0 with none in use.",
  openPositionCount: "Number of open positions.",
  intervalMinimumEquity: `The lowest equity from the previous sample (included) to this sample. ${MONEY}`,
  intervalMinimumMeasuredAt: "When `intervalMinimumEquity` was measured, UTC.",
  code: "A stable code, for programs.",
  error: "A message, for people.",
};

/** When each error is sent, and what to do. The socket stays open. */
export const ERROR_CODE_TEXTS: Readonly<Record<LiveErrorFrame["code"], string>> = {
  INVALID_MESSAGE:
    "The message is not JSON, has an unknown type or an invalid field, or came in a binary frame. It had no effect. Fix the client.",
  ACCOUNT_NOT_FOUND: "There is no such account on the server, or it was deleted. Nothing is subscribed.",
  SERVER_ACCESS_DENIED:
    "The server is unknown or another organization's, or the key does not reach it. Nothing is subscribed. Also sent once for each subscription that ends because access was removed while you are connected.",
  TOO_MANY_SUBSCRIPTIONS: `The connection already has ${LIVE_LIMITS.subscriptionsPerSocket} subscriptions, which continue. Open another connection.`,
};

/** When the server closes with each code, and what to do. */
export const CLOSE_CODE_TEXTS: Readonly<Record<keyof typeof LIVE_CLOSE_CODES, string>> = {
  restart: "The process stops. Reconnect at once with `afterSequence`; another process answers.",
  keyRevoked: `The key was revoked, has expired or has lost its scope. The server closes the connection within ${LIVE_LIMITS.revocationSeconds} s of that. Do not reconnect with this key.`,
  slowConsumer: `The connection accepted no data for ${LIVE_LIMITS.slowConsumerSeconds} s. Reconnect with \`afterSequence\`, and read faster.`,
  messageTooLarge: `A message was over ${LIVE_LIMITS.messageBytes / KIB} KiB. Fix the client, then reconnect.`,
};
