import { delay, monotonicClock } from "@kapi/kernel";
import { expect, it } from "vitest";

import type { CommandRepository, TopicIdRepository, LogEndOffsets, LogPosition } from "../domain/ports.ts";
import { isCaughtUp, waitUntilCaughtUp } from "./wait-until-caught-up.ts";

const DEADLINE_MS = 200;
const at = (partition: number, nextOffset: bigint): LogPosition => ({ topic: "command.events", partition, nextOffset });

/**
 * Waits with the end offsets `current()` and the positions `reached()`, of a topic whose stored id
 * is `storedId` and whose id in Kafka is "current".
 */
function caughtUp(
  current: LogEndOffsets["current"],
  reached: () => readonly LogPosition[],
  storedId = "current",
): Promise<boolean> {
  const repository: Pick<CommandRepository, "positions"> = { positions: async () => reached() };
  const stored = [{ topic: "command.events", topicId: storedId }];
  const topics: TopicIdRepository = { storeIfMissing: async () => stored, findAll: async () => stored };
  const endOffsets: LogEndOffsets = { current, topicIds: async () => new Map([["command.events", "current"]]) };
  return waitUntilCaughtUp({ repository, endOffsets, topics }, DEADLINE_MS);
}

it("waitUntilCaughtUp returns true once each partition has reached the end offset that it had at the call, and false after the deadline", async () => {
  let looks = 0;
  const reached = () => ((looks += 1) < 3 ? [at(0, 5n)] : [at(0, 5n), at(1, 7n)]);
  expect(await caughtUp(async () => [at(0, 5n), at(1, 7n)], reached)).toBe(true);
  expect(await caughtUp(async () => [at(0, 6n), at(1, 7n)], reached)).toBe(false);
});

it("waitUntilCaughtUp returns false if Kafka does not return the end offsets in time, and throws if Kafka fails", async () => {
  expect(
    await caughtUp(
      () => new Promise(() => undefined),
      () => [],
    ),
  ).toBe(false);
  await expect(
    caughtUp(
      () => Promise.reject(new Error("no broker")),
      () => [],
    ),
  ).rejects.toThrow("no broker");
});

it("waitUntilCaughtUp has one deadline for everything, also if Kafka and the database answer late", async () => {
  const late = <T>(answer: T, afterMs = 0.8 * DEADLINE_MS) => delay(afterMs).then(() => answer);
  const stored = [{ topic: "command.events", topicId: "current" }];
  const dependencies = (positions: CommandRepository["positions"]) => ({
    repository: { positions },
    topics: { storeIfMissing: async () => stored, findAll: () => late(stored) },
    endOffsets: {
      current: () => late([at(0, 5n)]),
      topicIds: () => late(new Map([["command.events", "current"]])),
    },
  });
  const startedMs = monotonicClock.nowMs();
  expect(
    await waitUntilCaughtUp(
      dependencies(() => late([at(0, 5n)], 0)),
      DEADLINE_MS,
    ),
  ).toBe(false);
  expect(
    await waitUntilCaughtUp(
      dependencies(() => new Promise(() => undefined)),
      DEADLINE_MS,
    ),
  ).toBe(false);
  expect(monotonicClock.nowMs() - startedMs).toBeLessThan(3 * DEADLINE_MS);
});

it("waitUntilCaughtUp throws if a position is beyond the end of its topic, because the topic was created again, but not if new records moved the end up to the position", async () => {
  const reached = () => [at(0, 10_000n)];
  await expect(caughtUp(async () => [at(0, 50n)], reached)).rejects.toThrow("was deleted and created again");
  let asked = 0;
  const grows = async () => [at(0, (asked += 1) === 1 ? 50n : 10_000n)];
  expect(await caughtUp(grows, reached)).toBe(true);
});

it("waitUntilCaughtUp throws if the positions belong to a deleted topic, also if the new topic has as many records", async () => {
  const answer = caughtUp(
    async () => [at(0, 5n)],
    () => [at(0, 5n)],
    "deleted",
  );
  await expect(answer).rejects.toThrow(
    /command\.events was deleted and created again \(its id was deleted and is current\)/,
  );
});

it("a partition that was never read is not caught up; a partition without records is ignored", () => {
  expect(isCaughtUp([at(0, 1n)], [])).toBe(false);
  expect(isCaughtUp([], [at(0, 1n)])).toBe(true);
});
