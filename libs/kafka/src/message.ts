import type { IHeaders, KafkaMessage } from "kafkajs";

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
const NO_HEADERS: Readonly<Record<string, string>> = Object.freeze({});

/** A record as kafkajs decodes it → {@link Message}. Of a repeated header the last one counts. */
export function fromWire(record: KafkaMessage): Message {
  return {
    key: record.key === null ? "" : record.key.toString(),
    value: record.value ?? NO_VALUE,
    headers: headersFromWire(record.headers),
    offset: BigInt(record.offset),
    timestampMs: Number(record.timestamp),
  };
}

function headersFromWire(headers: IHeaders | undefined): Readonly<Record<string, string>> {
  if (headers === undefined) return NO_HEADERS;
  const names = Object.keys(headers);
  if (names.length === 0) return NO_HEADERS;
  const decoded: Record<string, string> = {};
  for (const name of names) {
    const given = headers[name];
    const value = Array.isArray(given) ? given.at(-1) : given;
    if (value !== undefined) decoded[name] = value.toString();
  }
  return decoded;
}
