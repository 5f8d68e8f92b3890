import { deferred } from "@kapi/kernel";
import { createLogger } from "@kapi/runtime";
import { expect, it } from "vitest";

import { TopicWatch, type WatchedTopic } from "./topic-watch.ts";

type Ids = Record<WatchedTopic, string | null>;
const FIRST: Ids = { valuations: "v1", samples: "s1", latest: "l1" };
const WAIT_MS = 5_000;

/** Starts a watch that reads the ids of `FIRST` at first, then those that `ids` returns. */
async function start(ids: () => Promise<Ids>) {
  const changes: Error[] = [];
  let asked = 0;
  const watch = await TopicWatch.start({
    store: { register: async () => ({ generation: 0, ageMs: 0 }) },
    ids: () => ((asked += 1) === 1 ? Promise.resolve(FIRST) : ids()),
    names: { valuations: "trading.valuations", samples: "metrics.samples", latest: "metrics.latest" },
    changed: (error) => void changes.push(error),
    logger: createLogger({ service: "test", level: "silent" }),
  });
  return { watch, changes };
}

it("after a topic was deleted, the topic watch ends the process once, and not before all topics exist again", async () => {
  let now: Ids = FIRST;
  const { watch, changes } = await start(async () => now);
  await watch.check();
  now = { valuations: "v2", samples: "s2", latest: null };
  await expect(watch.check()).rejects.toThrow("metrics.latest does not exist");
  expect(changes).toEqual([]);
  now = { valuations: "v2", samples: "s2", latest: "l2" };
  const checks = await Promise.allSettled([watch.check(), watch.check()]);
  expect(checks.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  expect(changes.map(({ message }) => message)).toEqual([
    expect.stringContaining("metrics.latest was deleted and recreated"),
  ]);
});

it("before the process ends, the topic watch waits until a deleted topic is recreated, but no longer than the time limit", async () => {
  const answers: Ids[] = [{ ...FIRST, latest: null }];
  const { watch } = await start(async () => answers.shift() ?? { ...FIRST, latest: "l2" });
  expect(await watch.recreated(WAIT_MS)).toEqual(["latest"]);
  const never = await start(async () => ({ ...FIRST, latest: null }));
  expect(await never.watch.recreated(1)).toEqual([]);
});

it("the topic watch sends one request at a time, and answers each check from a request that started after the check", async () => {
  const answers = [deferred<Ids>(), deferred<Ids>()];
  let asked = 0;
  const { watch } = await start(() => answers[asked++]?.promise ?? Promise.reject(new Error("asked too often")));
  const early = watch.check();
  await new Promise(setImmediate);
  const late = watch.check();
  await new Promise(setImmediate);
  expect(asked).toBe(1);
  answers[0]?.resolve(FIRST);
  await early;
  answers[1]?.resolve({ ...FIRST, samples: "s2" });
  await expect(late).rejects.toThrow("metrics.samples was deleted and recreated");
  expect(asked).toBe(2);
});

it("the topic watch ends the process with a reader's error if no topic was recreated, otherwise with the error about the topic", async () => {
  const errors: Error[] = [];
  const { watch, changes } = await start(async () => FIRST);
  await watch.fail(new Error("broken"), (error) => void errors.push(error));
  expect({ errors: errors.map(({ message }) => message), changes }).toEqual({ errors: ["broken"], changes: [] });
  const again = await start(async () => ({ ...FIRST, samples: "s2" }));
  await again.watch.fail(new Error("beyond the end"), (error) => void errors.push(error));
  expect({ errors: errors.length, changes: again.changes.length }).toEqual({ errors: 1, changes: 1 });
});
