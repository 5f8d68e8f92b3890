import { TOPICS } from "@kapi/contracts";
import type { Started } from "@kapi/runtime";
import { afterAll, beforeAll, test } from "vitest";

import { type Consumer, type KafkaConnection, startConsumer } from "../src/index.ts";
import { logger, ownTopics, PARTITIONS, unexpected, until } from "./support.ts";

let kafka: KafkaConnection;
let drop: () => Promise<void>;

beforeAll(async () => {
  ({ kafka, drop } = await ownTopics());
});
afterAll(() => drop());

test("a member with `isAssignedByProcess` and a member of an earlier release, which knows only round robin, each get a part of the partitions", async () => {
  const owned = new Map<string, readonly number[]>();
  const member = (name: string, isAssignedByProcess: boolean): Promise<Started<Consumer>> =>
    startConsumer(kafka, {
      topics: [TOPICS.financeEvents],
      groupId: "mixed",
      logger,
      fatal: unexpected,
      heartbeatIntervalMs: 200,
      isAssignedByProcess,
      onAssigned: (assignment) => {
        const partitions = assignment.flatMap((topic) => topic.partitions);
        return Promise.resolve(void owned.set(name, partitions));
      },
      onBatch: () => Promise.resolve({}),
    });
  const isShared = (...names: string[]): boolean => {
    const all = names.flatMap((name) => owned.get(name) ?? []).toSorted((left, right) => left - right);
    const isFair = names.every((name) => owned.get(name)?.length === PARTITIONS / names.length);
    return isFair && new Set(all).size === PARTITIONS;
  };
  const earlier = await member("earlier", false);
  const first = await member("first", true);
  await until("both releases have partitions", () => isShared("earlier", "first"));
  await earlier.stop();
  const second = await member("second", true);
  await until("both processes have partitions", () => isShared("first", "second"));
  await first.stop();
  await second.stop();
});
