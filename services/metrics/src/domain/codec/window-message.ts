/**
 * The messages between a stream process and a windows process. The stream process sends JSON text.
 * The windows process sends binary messages: a byte with the kind, four bytes with the channel, and
 * the content of that kind. A channel is the number that the stream process gave an account on this
 * connection. Numbers are little-endian.
 */
import { StreamMessage, WindowsHolding } from "@kapi/contracts";
import { assert } from "@kapi/kernel";

/**
 * Maximum size of a message to a windows process. A message names at most 500 accounts, which need
 * less than 100 KiB.
 */
export const MAX_REQUEST_BYTES = 256 * 1_024;
/** Maximum size of a message from a windows process: a piece of a window has at most 64 KiB. */
export const MAX_ANSWER_BYTES = 1_024 * 1_024;

/** A message of a windows process. */
export type WindowMessage =
  /** The partitions that the process holds: its first message. */
  | { readonly kind: "holding"; readonly holding: WindowsHolding }
  /**
   * The account exists, and its window has the samples from `first` to `last`; none if
   * `first = last + 1`. The samples after the request's `afterSequence` follow. All samples of the
   * window follow if samples between `afterSequence` and `first` are missing, or if
   * `afterSequence` is above `last`.
   */
  | { readonly kind: "opened"; readonly channel: number; readonly first: number; readonly last: number }
  /** Records of samples from sequence `from` on. */
  | { readonly kind: "samples"; readonly channel: number; readonly from: number; readonly records: Buffer }
  /** The channel has ended: its account was deleted, or does not exist. */
  | { readonly kind: "deleted" | "unknown"; readonly channel: number };

const KIND = { holding: 1, opened: 2, samples: 3, deleted: 4, unknown: 5 } as const;
const CHANNEL_AT = 1;
const CONTENT_AT = 5;
const NUMBER_BYTES = 8;

/**
 * Decodes a message of a stream process.
 * @throws if the text is not a message of a stream process.
 */
export function decodeStreamMessage(text: string): StreamMessage {
  return StreamMessage.parse(JSON.parse(text));
}

/** Encodes the message with the partitions that the process holds. */
export function encodeHolding(holding: WindowsHolding): Buffer {
  return Buffer.concat([head(KIND.holding, 0, 0), Buffer.from(JSON.stringify(holding))]);
}

/** Encodes the message that the account exists; sequences `first` to `last` are kept. */
export function encodeOpened(channel: number, first: number, last: number): Buffer {
  const message = head(KIND.opened, channel, 2 * NUMBER_BYTES);
  message.writeDoubleLE(first, CONTENT_AT);
  message.writeDoubleLE(last, CONTENT_AT + NUMBER_BYTES);
  return message;
}

/**
 * Encodes the beginning of a message with samples from sequence `from` on. The caller sends the
 * records after it.
 */
export function encodeSamplesHead(channel: number, from: number): Buffer {
  const message = head(KIND.samples, channel, NUMBER_BYTES);
  message.writeDoubleLE(from, CONTENT_AT);
  return message;
}

/** Encodes the message that a channel has ended. */
export function encodeEnd(kind: "deleted" | "unknown", channel: number): Buffer {
  return head(KIND[kind], channel, 0);
}

/**
 * Decodes a message of a windows process. The records of samples share the memory of `bytes`.
 * @throws if the bytes are not a message of a windows process.
 */
export function decodeWindowMessage(bytes: Buffer): WindowMessage {
  const channel = bytes.readUInt32LE(CHANNEL_AT);
  switch (bytes[0]) {
    case KIND.samples:
      return {
        kind: "samples",
        channel,
        from: bytes.readDoubleLE(CONTENT_AT),
        records: bytes.subarray(CONTENT_AT + NUMBER_BYTES),
      };
    case KIND.opened:
      return {
        kind: "opened",
        channel,
        first: bytes.readDoubleLE(CONTENT_AT),
        last: bytes.readDoubleLE(CONTENT_AT + NUMBER_BYTES),
      };
    case KIND.deleted:
      return { kind: "deleted", channel };
    case KIND.unknown:
      return { kind: "unknown", channel };
    default:
      assert(bytes[0] === KIND.holding, "the message of a windows process has an unknown kind");
      return { kind: "holding", holding: WindowsHolding.parse(JSON.parse(bytes.toString("utf8", CONTENT_AT))) };
  }
}

function head(kind: number, channel: number, contentBytes: number): Buffer {
  const message = Buffer.allocUnsafe(CONTENT_AT + contentBytes);
  message[0] = kind;
  message.writeUInt32LE(channel, CHANNEL_AT);
  return message;
}
