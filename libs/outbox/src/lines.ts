/**
 * The messages of one row as text. Each message has three lines: topic, key, value. No character is
 * escaped. The parent span of a message, if any, follows the name of its topic.
 */
import { TOPICS, type TopicContract } from "@kapi/contracts";
import { assert, assertDefined } from "@kapi/kernel";

import type { OutboxMessage } from "./message.ts";

const TOPIC_BY_NAME: ReadonlyMap<string, TopicContract> = new Map(
  Object.values(TOPICS).map((topic) => [topic.name, topic]),
);
const LINES_PER_MESSAGE = 3;
const LINE_END = "\n";

/** The text of a row. Throws for a key or value with a line break. */
export function toLines(messages: readonly OutboxMessage[]): string {
  const lines = messages.flatMap(({ topic, key, value, traceparent }) => [
    traceparent === undefined ? topic.name : `${topic.name} ${traceparent}`,
    key,
    value,
  ]);
  for (const line of lines)
    assert(!line.includes(LINE_END), "topic, key and value of a message must be on one line each");
  return lines.join(LINE_END);
}

/** The messages of a row, in the order they were enqueued. */
export function fromLines(text: string): OutboxMessage[] {
  const lines = text.split(LINE_END);
  assert(lines.length % LINES_PER_MESSAGE === 0, "an outbox row does not have three lines per message");
  const messages: OutboxMessage[] = [];
  for (let at = 0; at < lines.length; at += LINES_PER_MESSAGE) {
    const [first = "", key = "", value = ""] = lines.slice(at, at + LINES_PER_MESSAGE);
    const [name = "", traceparent] = first.split(" ");
    const topic = assertDefined(TOPIC_BY_NAME.get(name), `topic ${name}`);
    messages.push({ topic, key, value, ...(traceparent === undefined ? {} : { traceparent }) });
  }
  return messages;
}
