import { TopicRecreated } from "@kapi/kafka";
import { expect, it } from "vitest";

import type { KnownTopics } from "../domain/ports.ts";
import { assertSameTopics, rememberTopics } from "./check-topics.ts";

const TOPIC = "command.events";

function known(storedId: string): KnownTopics {
  const stored = [{ topic: TOPIC, topicId: storedId }];
  return { remember: async () => stored, stored: async () => stored };
}

it("refuses to take partitions in whose positions belong to a topic that was deleted", async () => {
  const assigned = [{ topic: TOPIC, topicId: "now", partitions: [0] }];
  await rememberTopics(known("now"), assigned);
  await expect(rememberTopics(known("former"), assigned)).rejects.toThrow(TopicRecreated);
});

it("waits for a topic that does not exist at this moment", async () => {
  await assertSameTopics(known("former"), { topicIds: async () => new Map() });
  await expect(assertSameTopics(known("former"), { topicIds: async () => new Map([[TOPIC, "now"]]) })).rejects.toThrow(
    /then remove its rows from command_status.positions/,
  );
});
