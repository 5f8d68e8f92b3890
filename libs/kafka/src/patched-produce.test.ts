/** Tests the part of kafkajs's produce response that `patches/kafkajs+2.2.4.patch` changes. */
import { createRequire } from "node:module";

import { expect, test } from "vitest";

interface ProducedTopic {
  readonly topicName: string;
  readonly partitions: readonly {
    readonly partition: number;
    readonly errorCode: number;
    readonly baseOffset: string;
  }[];
}

const { parse } = createRequire(import.meta.url)("kafkajs/src/protocol/requests/produce/v3/response") as {
  readonly parse: (answer: { topics: readonly ProducedTopic[] }) => Promise<unknown>;
};
const NOT_LEADER_FOR_PARTITION = 6;

test("the error of a request with a rejected partition has the answers for all partitions of the request", async () => {
  const topics = [
    {
      topicName: "orders",
      partitions: [
        { partition: 0, errorCode: 0, baseOffset: "41" },
        { partition: 1, errorCode: NOT_LEADER_FOR_PARTITION, baseOffset: "-1" },
      ],
    },
  ];
  await expect(parse({ topics })).rejects.toMatchObject({ type: "NOT_LEADER_FOR_PARTITION", topics });
});
