import { DEAD_LETTER_HEADERS, TOPICS } from "@kapi/contracts";
import { countDeadLetters, type Producer } from "@kapi/kafka";

import { offsetOf } from "../../domain/topic-position.ts";
import type { RejectedValuationSink } from "../../domain/ports.ts";

const MAX_REASON_CHARACTERS = 1_000;

/**
 * Writes rejected valuations to `dead-letter`. A valuation contains no secret, so the dead letter
 * has its value. The value of a parked valuation is not kept: its dead letter has an empty value.
 * `group` is the consumer group that read the valuations.
 */
export function createRejectedValuationSink(producer: Producer, group: string): RejectedValuationSink {
  const topic = TOPICS.tradingValuations.name;
  return {
    write: async (partition, { key, value, offset }, reason) => {
      await producer.send(TOPICS.deadLetter, {
        key,
        value: value ?? "",
        headers: {
          [DEAD_LETTER_HEADERS.reason]: reason.slice(0, MAX_REASON_CHARACTERS),
          [DEAD_LETTER_HEADERS.topic]: topic,
          [DEAD_LETTER_HEADERS.partition]: String(partition),
          [DEAD_LETTER_HEADERS.offset]: offsetOf(offset).toString(),
          [DEAD_LETTER_HEADERS.group]: group,
        },
      });
      countDeadLetters(group, topic, 1);
    },
  };
}
