import type { KafkaMessage } from "kafkajs";

/** One record of a topic. */
export interface Message {
  /** Empty if the record has none. */
  readonly key: string;
  /** Empty if the record has none. */
  readonly value: Buffer;
  readonly headers: Readonly<Record<string, string>>;
  readonly offset: bigint;
  /** When the producer made it, milliseconds since the epoch. */
  readonly timestampMs: number;
  /** The span of handling it, where the message belongs to a trace that is recorded. */
  readonly traceparent?: string;
}

const NO_VALUE = Buffer.alloc(0);

/**
 * A record as the patched kafkajs gives it: what is asked for is made of the batch's bytes, and
 * nothing else.
 */
export type FetchedRecord = KafkaMessage & {
  readonly isControlRecord?: boolean;
  readonly textKey: string;
  /** Of a repeated header the last one counts. */
  readonly textHeaders: Readonly<Record<string, string>>;
  readonly bigOffset: bigint;
  readonly timestampMs: number;
  /** In place of a batch of records that cannot be read: from here to `bigOffset`, and why. */
  readonly unreadable?: { readonly firstOffset: bigint; readonly reason: string };
};

/** Whether a record is one, and does not stand for a batch that cannot be read. */
export function isReadable(record: FetchedRecord): boolean {
  return record.unreadable === undefined;
}

/** A record as kafkajs gives it → {@link Message}. */
export function fromWire(record: FetchedRecord): Message {
  return {
    key: record.textKey,
    value: record.value ?? NO_VALUE,
    headers: record.textHeaders,
    offset: record.bigOffset,
    timestampMs: record.timestampMs,
  };
}
