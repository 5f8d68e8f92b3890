import type { KafkaMessage } from "kafkajs";

/** One record of a topic. */
export interface Message {
  /** Empty if the record has none. */
  readonly key: string;
  /** Empty if the record has none. */
  readonly value: Buffer;
  readonly headers: Readonly<Record<string, string>>;
  readonly offset: bigint;
  /** When the producer created the record, in milliseconds since the epoch. */
  readonly timestampMs: number;
  /** The span of handling the message, if the message belongs to a recorded trace. */
  readonly traceparent?: string;
}

const NO_VALUE = Buffer.alloc(0);

/** A record of the patched kafkajs. Each read of a property decodes the property again. */
export type FetchedRecord = KafkaMessage & {
  readonly isControlRecord?: boolean;
  readonly textKey: string;
  /** Without headers that have no value. If a header is repeated, the last value counts. */
  readonly textHeaders: Readonly<Record<string, string>>;
  readonly bigOffset: bigint;
  readonly timestampMs: number;
  /** Set if this stands for an unreadable batch: its first offset, and the reason. */
  readonly unreadable?: { readonly firstOffset: bigint; readonly reason: string };
};

/** Whether this is a real record, and does not stand for an unreadable batch. */
export function isReadable(record: FetchedRecord): boolean {
  return record.unreadable === undefined;
}

/** Converts a record of kafkajs to a {@link Message}. */
export function fromWire(record: FetchedRecord): Message {
  return {
    key: record.textKey,
    value: record.value ?? NO_VALUE,
    headers: record.textHeaders,
    offset: record.bigOffset,
    timestampMs: record.timestampMs,
  };
}
