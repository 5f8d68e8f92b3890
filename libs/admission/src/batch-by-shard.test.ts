import { expect, test } from "vitest";

import { batchByShard } from "./batch-by-shard.ts";

const MAX = 20;

interface Asked {
  readonly name: string;
  readonly size: number;
}

function recording(call: (shard: number) => Promise<void> = () => Promise.resolve()) {
  const calls: [shard: number, names: string[]][] = [];
  const ask = batchByShard<Asked, string>({
    call: async (shard, requests) => {
      calls.push([shard, requests.map(({ name }) => name)]);
      await call(shard);
      return requests.map(({ name }) => `${name} of ${shard}`);
    },
    sizeOf: ({ size }) => size,
    maxSize: MAX,
  });
  return { calls, ask: (shard: number, name: string, size = 1) => ask(shard, { name, size }) };
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test("requests of one shard in one turn of the event loop share a call, and each gets its own answer", async () => {
  const { calls, ask } = recording();
  const answers = await Promise.all([ask(1, "a"), ask(2, "b"), ask(1, "c")]);
  expect(answers).toEqual(["a of 1", "b of 2", "c of 1"]);
  expect(calls).toEqual([
    [1, ["a", "c"]],
    [2, ["b"]],
  ]);
});

test("later requests do not wait for a running call", async () => {
  const { calls, ask } = recording(() => new Promise(() => undefined));
  void ask(1, "a");
  await turn();
  void ask(1, "b");
  await turn();
  expect(calls).toEqual([
    [1, ["a"]],
    [1, ["b"]],
  ]);
});

test("a call does not exceed its maximum size; a larger request has a call of its own", async () => {
  const { calls, ask } = recording();
  const sizes = [12, 8, 1, 100, 19, 1];
  await Promise.all(sizes.map((size, index) => ask(1, `${index}`, size)));
  expect(calls.map(([, names]) => names)).toEqual([["0", "1"], ["2"], ["3"], ["4", "5"]]);
});

test("a call that fails rejects its own requests, and no requests of another shard", async () => {
  const { ask } = recording((shard) => (shard === 1 ? Promise.reject(new Error("unavailable")) : Promise.resolve()));
  const answers = await Promise.allSettled([ask(1, "a"), ask(1, "b"), ask(2, "c")]);
  expect(answers).toMatchObject([
    { status: "rejected", reason: { message: "unavailable" } },
    { status: "rejected", reason: { message: "unavailable" } },
    { status: "fulfilled", value: "c of 2" },
  ]);
});
