/**
 * The messages between a stream process and a process that holds windows. The stream sends JSON
 * text. The windows process sends binary messages: the kind, the channel, and what the kind has.
 * A channel is the number that the stream gave an account on this connection.
 */
import { StreamMessage, WindowsHolding } from "@kapi/contracts";
import { assert } from "@kapi/kernel";

/** Maximum size of a message to a windows process: 500 accounts of 150 bytes. */
export const MAX_REQUEST_BYTES = 256 * 1_024;
/**
 * Maximum size of a message from a windows process: a piece of a window, which has one sample more
 * than the hub's limit at most.
 */
export const MAX_ANSWER_BYTES = 1_024 * 1_024;

/** What a windows process sends. */
export type WindowMessage =
  | { readonly kind: "holding"; readonly holding: WindowsHolding }
  /** The kept sequences; `first = last + 1` if none. The samples follow. */
  | { readonly kind: "opened"; readonly channel: number; readonly first: number; readonly last: number }
  /** Records of samples from sequence `from` on. */
  | { readonly kind: "samples"; readonly channel: number; readonly from: number; readonly records: Buffer }
  | { readonly kind: "deleted" | "unknown"; readonly channel: number };

const KIND = { holding: 1, opened: 2, samples: 3, deleted: 4, unknown: 5 } as const;
const CHANNEL_AT = 1;
const CONTENT_AT = 5;
const NUMBER_BYTES = 8;

/** @throws if the text is not a message of a stream process. */
export function decodeStreamMessage(text: string): StreamMessage {
  return StreamMessage.parse(JSON.parse(text));
}

export function encodeHolding(holding: WindowsHolding): Buffer {
  return Buffer.concat([head(KIND.holding, 0, 0), Buffer.from(JSON.stringify(holding))]);
}

export function encodeOpened(channel: number, first: number, last: number): Buffer {
  const message = head(KIND.opened, channel, 2 * NUMBER_BYTES);
  message.writeDoubleLE(first, CONTENT_AT);
  message.writeDoubleLE(last, CONTENT_AT + NUMBER_BYTES);
  return message;
}

/** The bytes before the records of a message with samples. */
export function encodeSamplesHead(channel: number, from: number): Buffer {
  const message = head(KIND.samples, channel, NUMBER_BYTES);
  message.writeDoubleLE(from, CONTENT_AT);
  return message;
}

export function encodeEnd(kind: "deleted" | "unknown", channel: number): Buffer {
  return head(KIND[kind], channel, 0);
}

/** @throws if the bytes are not a message of a windows process. */
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
      assert(bytes[0] === KIND.holding, "a message of a windows process has a known kind");
      return { kind: "holding", holding: WindowsHolding.parse(JSON.parse(bytes.toString("utf8", CONTENT_AT))) };
  }
}

function head(kind: number, channel: number, contentBytes: number): Buffer {
  const message = Buffer.allocUnsafe(CONTENT_AT + contentBytes);
  message[0] = kind;
  message.writeUInt32LE(channel, CHANNEL_AT);
  return message;
}
