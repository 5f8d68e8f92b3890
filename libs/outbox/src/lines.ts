/**
 * The messages of one row as text. Each message has three lines: topic, key, value. No character is
 * escaped. The parent span of a message, if any, follows the name of its topic.
 */
import { TOPICS, type TopicContract } from "@kapi/contracts";
import { assert } from "@kapi/kernel";

import type { OutboxMessage } from "./message.ts";

const TOPIC_BY_NAME: ReadonlyMap<string, TopicContract> = new Map(
  Object.values(TOPICS).map((topic) => [topic.name, topic]),
);
const LINES_PER_MESSAGE = 3;
const LINE_END = "\n";

/** The text of a row. Throws for a key or value with a line break. */
export function toLines(messages: readonly OutboxMessage[]): string {
  return messages.flatMap(linesOf).join(LINE_END);
}

/** The lines of a message. Throws for a key or value with a line break. */
export function linesOf({ topic, key, value, traceparent }: OutboxMessage): readonly string[] {
  const lines = [traceparent === undefined ? topic.name : `${topic.name} ${traceparent}`, key, value];
  const isBroken = lines.some((line) => line.includes(LINE_END));
  assert(!isBroken, `topic, key and value of a message of ${topic.name} must be on one line each`);
  return lines;
}

/**
 * The messages of a row, in the order they were enqueued. Throws if the row cannot be read, such as
 * with a topic of a newer release.
 */
export function fromLines(text: string): OutboxMessage[] {
  const lines = text.split(LINE_END);
  assert(lines.length % LINES_PER_MESSAGE === 0, "an outbox row does not have three lines per message");
  const messages: OutboxMessage[] = [];
  for (let at = 0; at < lines.length; at += LINES_PER_MESSAGE) {
    const [first = "", key = "", value = ""] = lines.slice(at, at + LINES_PER_MESSAGE);
    const [name = "", traceparent] = first.split(" ");
    const topic = TOPIC_BY_NAME.get(name);
    assert(topic !== undefined, `this release does not know the topic ${name}`);
    messages.push({ topic, key, value, ...(traceparent === undefined ? {} : { traceparent }) });
  }
  return messages;
}
