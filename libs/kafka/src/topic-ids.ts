/**
 * The ids that Kafka gives topics. A topic that is deleted and created again has its old name,
 * offsets from 0 and another id.
 *
 * kafkajs requests metadata in a version without topic ids. So this module writes the request
 * itself: Metadata, version 12, one topic per request
 * (https://kafka.apache.org/protocol#The_Messages_Metadata).
 */
import type { TopicContract } from "@kapi/contracts";
import type { Broker } from "kafkajs";

import { clusterClient } from "./cluster.ts";
import type { KafkaConnection } from "./connection.ts";

const METADATA = { apiKey: 3, apiName: "Metadata", apiVersion: 12 };
const NO_ERROR = 0;
const UNKNOWN_TOPIC = 3;
const NO_TAGS = Buffer.from([0]);
/** The end of the request: do not create the topic; no authorized operations; no tags. */
const NOTHING_MORE = Buffer.from([0, 0, 0]);
const UUID_BYTES = 16;
const REQUEST_TIMEOUT_MS = 5_000;
const VARINT_BITS = 7;
const VARINT_MORE = 0x80;

/** A broker of kafkajs, with the connection pool that sends its requests. */
type SendingBroker = Broker & {
  readonly connectionPool: {
    send(request: {
      readonly request: typeof METADATA & { encode(): Promise<{ buf: Buffer; buffer: Buffer }> };
      readonly response: { decode(payload: Buffer): Promise<Buffer>; parse(data: Buffer): Promise<string | null> };
      readonly requestTimeout: number;
    }): Promise<string | null>;
  };
};

/** The id of each topic, in the order of `topics`; null for a topic that does not exist. */
export async function topicIds(
  kafka: KafkaConnection,
  topics: readonly TopicContract[],
): Promise<readonly (string | null)[]> {
  const { client, cluster } = clusterClient(kafka, { requestTimeoutMs: REQUEST_TIMEOUT_MS });
  await kafka.connect(client);
  try {
    await cluster.refreshMetadata();
    const broker = await cluster.findControllerBroker();
    return await Promise.all(topics.map((topic) => topicIdFrom(broker, kafka.topicName(topic))));
  } finally {
    await client.disconnect();
  }
}

/** The id of the topic with this name in the cluster; null if `broker` knows no such topic. */
export function topicIdFrom(broker: Broker, name: string): Promise<string | null> {
  const asked = [varint(2), Buffer.alloc(UUID_BYTES), compact(name), NO_TAGS];
  const buffer = Buffer.concat([NO_TAGS, ...asked, NOTHING_MORE]);
  return (broker as SendingBroker).connectionPool.send({
    request: { ...METADATA, encode: () => Promise.resolve({ buf: buffer, buffer }) },
    response: {
      decode: (payload) => Promise.resolve(payload),
      parse: (payload) => Promise.resolve(idFromAnswer(payload, name)),
    },
    requestTimeout: REQUEST_TIMEOUT_MS,
  });
}

/** Reads the answer up to the topic's id; the fields after it describe its partitions. */
function idFromAnswer(payload: Buffer, name: string): string | null {
  const answer = new Answer(payload);
  answer.skipTags();
  answer.skip(4); // throttle_time_ms
  for (let brokers = answer.varint() - 1; brokers > 0; brokers -= 1) {
    answer.skip(4); // node_id
    answer.skipCompact(); // host
    answer.skip(4); // port
    answer.skipCompact(); // rack
    answer.skipTags();
  }
  answer.skipCompact(); // cluster_id
  answer.skip(4); // controller_id
  answer.skip(1); // the number of topics: one
  const error = answer.int16();
  answer.skipCompact(); // name
  if (error === UNKNOWN_TOPIC) return null;
  if (error !== NO_ERROR) throw new Error(`Kafka answered error ${error} when asked for the id of topic ${name}`);
  return answer.uuid();
}

/** A response in Kafka's flexible format: lengths are varints, and structures end with tags. */
class Answer {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  skip(bytes: number): void {
    this.#at += bytes;
  }

  varint(): number {
    let value = 0;
    for (let shift = 0; ; shift += VARINT_BITS) {
      const byte = this.#bytes.readUInt8(this.#at);
      this.#at += 1;
      value |= (byte & ~VARINT_MORE) << shift;
      if (byte < VARINT_MORE) return value;
    }
  }

  int16(): number {
    const value = this.#bytes.readInt16BE(this.#at);
    this.#at += 2;
    return value;
  }

  uuid(): string {
    const hex = this.#bytes.toString("hex", this.#at, this.#at + UUID_BYTES);
    return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
  }

  skipCompact(): void {
    const length = this.varint() - 1;
    if (length > 0) this.skip(length);
  }

  skipTags(): void {
    for (let tags = this.varint(); tags > 0; tags -= 1) {
      this.varint();
      this.skip(this.varint());
    }
  }
}

function compact(text: string): Buffer {
  const bytes = Buffer.from(text);
  return Buffer.concat([varint(bytes.length + 1), bytes]);
}

function varint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  for (; rest >= VARINT_MORE; rest >>>= VARINT_BITS) bytes.push((rest & ~VARINT_MORE & 0xff) | VARINT_MORE);
  return Buffer.from([...bytes, rest]);
}
