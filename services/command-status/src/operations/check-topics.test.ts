import { TopicRecreated } from "@kapi/kafka";
import { expect, it } from "vitest";

import type { TopicIdRepository } from "../domain/ports.ts";
import { assertSameTopics, storeTopicIds } from "./check-topics.ts";

const TOPIC = "command.events";

function repositoryOf(storedId: string): TopicIdRepository {
  const stored = [{ topic: TOPIC, topicId: storedId }];
  return { storeIfMissing: async () => stored, findAll: async () => stored };
}

it("assigned partitions are rejected if their stored positions belong to a deleted topic", async () => {
  const assigned = [{ topic: TOPIC, topicId: "current", partitions: [0] }];
  await storeTopicIds(repositoryOf("current"), assigned);
  await expect(storeTopicIds(repositoryOf("deleted"), assigned)).rejects.toThrow(TopicRecreated);
});

it("the check ignores a topic that does not exist at the moment, and rejects a topic that was created again", async () => {
  await assertSameTopics(repositoryOf("deleted"), { topicIds: async () => new Map() });
  await expect(
    assertSameTopics(repositoryOf("deleted"), { topicIds: async () => new Map([[TOPIC, "current"]]) }),
  ).rejects.toThrow(/: remove its rows from command_status.positions, then check the ledger/);
});
