import { systemClock } from "@kapi/kernel";
import { expect, it } from "vitest";

import type { CommandStore, KnownTopics, LogEnds, LogPosition } from "../domain/ports.ts";
import { isCaughtUp, waitUntilCaughtUp } from "./wait-until-caught-up.ts";

const DEADLINE_MS = 200;
const at = (partition: number, nextOffset: bigint): LogPosition => ({ topic: "command.events", partition, nextOffset });

/**
 * The answer where the logs end at `current()` and the positions are `reached()`, of a topic that
 * had the id `storedId` and has the id "now".
 */
function caughtUp(
  current: LogEnds["current"],
  reached: () => readonly LogPosition[],
  storedId = "now",
): Promise<boolean> {
  const store: Pick<CommandStore, "positions"> = { positions: async () => reached() };
  const stored = [{ topic: "command.events", topicId: storedId }];
  const topics: KnownTopics = { remember: async () => stored, stored: async () => stored };
  const ends: LogEnds = { current, topicIds: async () => new Map([["command.events", "now"]]) };
  return waitUntilCaughtUp({ store, ends, topics, clock: systemClock }, DEADLINE_MS);
}

it("is true once each partition was read as far as its end was at the call, and false where one was not in time", async () => {
  let looks = 0;
  const reached = () => ((looks += 1) < 3 ? [at(0, 5n)] : [at(0, 5n), at(1, 7n)]);
  expect(await caughtUp(async () => [at(0, 5n), at(1, 7n)], reached)).toBe(true);
  expect(await caughtUp(async () => [at(0, 6n), at(1, 7n)], reached)).toBe(false);
});

it("is false where Kafka does not tell the ends in time, and fails where it refuses to", async () => {
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

it("fails where a position is beyond the end of a topic that was made again, and not where positions only moved on", async () => {
  const reached = () => [at(0, 10_000n)];
  await expect(caughtUp(async () => [at(0, 50n)], reached)).rejects.toThrow("was deleted and made again");
  let asked = 0;
  const grows = async () => [at(0, (asked += 1) === 1 ? 50n : 10_000n)];
  expect(await caughtUp(grows, reached)).toBe(true);
});

it("fails where the positions belong to a topic that was made again and holds as many records", async () => {
  const answer = caughtUp(
    async () => [at(0, 5n)],
    () => [at(0, 5n)],
    "former",
  );
  await expect(answer).rejects.toThrow(/command\.events was deleted and made again \(its id was former and is now\)/);
});

it("a partition that was never read is not caught up, and one without records is not asked for", () => {
  expect(isCaughtUp([at(0, 1n)], [])).toBe(false);
  expect(isCaughtUp([], [at(0, 1n)])).toBe(true);
});
