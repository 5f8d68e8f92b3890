import { deferred } from "@kapi/kernel";
import { expect, test } from "vitest";

import { Generations, type Member, type AdmittedBatch } from "./generations.ts";

function member(memberId: string, generationId: number): Member {
  return { memberId, generationId };
}

const NOTHING = (): Promise<void> => Promise.resolve();

function entered(run: AdmittedBatch | null): AdmittedBatch {
  if (run === null) throw new Error("the batch was not admitted");
  return run;
}

test("no batch runs before the announcement of its assignment has ended", async () => {
  const announcement = deferred<void>();
  const generations = new Generations(() => announcement.promise);
  const joined = generations.joinEnded(member("a", 1), []);
  const run = entered(generations.enter(member("a", 1)));
  expect(run.isCurrent()).toBe(false);
  announcement.resolve();
  await joined;
  await run.ready;
  expect(run.isCurrent()).toBe(true);
});

test("an assignment is announced only after the batches of the previous generation have ended", async () => {
  const announced: number[] = [];
  const generations = new Generations(() => Promise.resolve(void announced.push(1)));
  await generations.joinEnded(member("a", 1), []);
  const run = entered(generations.enter(member("a", 1)));
  await run.ready;
  const second = generations.joinEnded(member("a", 2), []);
  expect(run.isCurrent()).toBe(false);
  await new Promise(setImmediate);
  expect(announced).toHaveLength(1);
  run.leave();
  await second;
  expect(announced).toHaveLength(2);
});

test("a batch of an earlier generation or an earlier member id, such as a late answer of a broker, is not admitted", async () => {
  const generations = new Generations(NOTHING);
  await generations.joinEnded(member("a", 1), []);
  await generations.joinEnded(member("a", 2), []);
  expect(generations.enter(member("a", 1))).toBeNull();
  expect(generations.enter(member("b", 2))).toBeNull();
  expect(generations.enter(member("a", 2))).not.toBeNull();
  await generations.joinEnded(member("b", 2), []);
  expect(generations.enter(member("a", 2))).toBeNull();
  expect(generations.enter(member("b", 2))).not.toBeNull();
});

test("a batch that waits for the announcement of its assignment does not run if the process joins the group again meanwhile", async () => {
  const first = deferred<void>();
  const waits = [first.promise, Promise.resolve()];
  const generations = new Generations(() => waits.shift() ?? Promise.resolve());
  const joined = generations.joinEnded(member("a", 1), []);
  const run = entered(generations.enter(member("a", 1)));
  const second = generations.joinEnded(member("a", 1), []);
  first.resolve();
  await joined;
  await run.ready;
  expect(run.isCurrent()).toBe(false);
  run.leave();
  await second;
});

test("an assignment is not announced if a newer assignment arrives first", async () => {
  const announced: string[] = [];
  const generations = new Generations((assignment) => Promise.resolve(void announced.push(String(assignment.length))));
  const topic = { name: "t", cleanup: "delete", key: "" } as const;
  const first = generations.joinEnded(member("a", 1), []);
  const second = generations.joinEnded(member("a", 2), [{ topic, partitions: [0], topicId: null }]);
  await Promise.all([first, second]);
  expect(announced).toEqual(["1"]);
});

test("no batch runs after the announcement of its assignment has failed", async () => {
  const generations = new Generations(() => Promise.reject(new Error("no memory")));
  const joined = generations.joinEnded(member("a", 1), []);
  const run = entered(generations.enter(member("a", 1)));
  await expect(joined).rejects.toThrow("no memory");
  await run.ready;
  expect(run.isCurrent()).toBe(false);
});
