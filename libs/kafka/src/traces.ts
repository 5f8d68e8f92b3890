/**
 * The traces of messages: a span for each send and each handling of a message of a trace, and the
 * header that connects both spans.
 */
import {
  ATTRIBUTE,
  inBatchSpan,
  isTracing,
  MESSAGING,
  recordedTraceparent,
  type Span,
  startSpan,
  TRACEPARENT_HEADER,
  type Traceparent,
} from "@kapi/runtime";

import type { Batch } from "./batch.ts";
import type { Message } from "./message.ts";

/**
 * Begins the span of sending a message to `topic`, as a child of `parent`. Returns null if the
 * message belongs to no trace, or tracing is off.
 */
export function startSending(topic: string, parent: Traceparent | undefined): Span | null {
  if (parent === undefined || !isTracing()) return null;
  const attributes = {
    [ATTRIBUTE.messagingSystem]: MESSAGING.system,
    [ATTRIBUTE.messagingOperationName]: MESSAGING.send,
    [ATTRIBUTE.messagingOperationType]: MESSAGING.send,
    [ATTRIBUTE.messagingDestination]: topic,
  };
  return startSpan(`${MESSAGING.send} ${topic}`, { role: "producer", parent, attributes });
}

/**
 * Handles a batch. Each message of a recorded trace gets a span, a child of the span of its send,
 * and the handler gets that span as the message's `traceparent`. Other messages get no span
 * and cost nothing.
 */
export async function handleTraced<T>(groupId: string, batch: Batch, handle: (batch: Batch) => Promise<T>): Promise<T> {
  if (!isTracing()) return handle(batch);
  const spans: Span[] = [];
  const messages = batch.messages.map((message) => {
    const span = startHandling(groupId, batch, message);
    if (span === null) return message;
    spans.push(span);
    return { ...message, traceparent: span.traceparent };
  });
  if (spans.length === 0) return inBatchSpan("", [], () => handle(batch));
  const members = messages.map(({ traceparent }) => traceparent);
  try {
    const result = await inBatchSpan(`${MESSAGING.process} batch ${batch.topic.name}`, members, () =>
      handle({ ...batch, messages }),
    );
    for (const span of spans) span.end();
    return result;
  } catch (error) {
    for (const span of spans) span.end(error);
    throw error;
  }
}

function startHandling(groupId: string, { topic, partition, messages }: Batch, message: Message): Span | null {
  const parent = recordedTraceparent(message.headers[TRACEPARENT_HEADER]);
  if (parent === undefined) return null;
  const attributes = {
    [ATTRIBUTE.messagingSystem]: MESSAGING.system,
    [ATTRIBUTE.messagingOperationName]: MESSAGING.process,
    [ATTRIBUTE.messagingOperationType]: MESSAGING.process,
    [ATTRIBUTE.messagingDestination]: topic.name,
    [ATTRIBUTE.messagingConsumerGroup]: groupId,
    [ATTRIBUTE.messagingPartition]: String(partition),
    [ATTRIBUTE.messagingKafkaOffset]: Number(message.offset),
    [ATTRIBUTE.messagingBatchCount]: messages.length,
  };
  return startSpan(`${MESSAGING.process} ${topic.name}`, { role: "consumer", parent, attributes });
}
