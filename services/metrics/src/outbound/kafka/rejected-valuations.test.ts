import { DEAD_LETTER_HEADERS, TOPICS } from "@kapi/contracts";
import type { Producer } from "@kapi/kafka";
import { expect, it } from "vitest";

import { firstPosition } from "../../domain/topic-position.ts";
import { createRejectedValuationSink } from "./rejected-valuations.ts";

it("a dead letter names the record by its offset in Kafka, also after the topic was recreated", async () => {
  const headers: unknown[] = [];
  const producer: Pick<Producer, "send"> = {
    send: (_topic, record) => {
      headers.push(record.headers);
      return Promise.resolve({ partition: 0, offset: 0n });
    },
  };
  const sink = createRejectedValuationSink(producer as Producer, "metrics");
  const offset = BigInt(firstPosition(1)) + 7n;
  await sink.write(3, { key: "server/account", value: null, offset }, "unreadable");
  expect(headers).toEqual([
    {
      [DEAD_LETTER_HEADERS.reason]: "unreadable",
      [DEAD_LETTER_HEADERS.topic]: TOPICS.tradingValuations.name,
      [DEAD_LETTER_HEADERS.partition]: "3",
      [DEAD_LETTER_HEADERS.offset]: "7",
      [DEAD_LETTER_HEADERS.group]: "metrics",
    },
  ]);
});
