import { deferred } from "@kapi/kernel";
import { createLogger } from "@kapi/runtime";
import type { Offsets } from "kafkajs";
import { expect, test } from "vitest";

import { type Commit, Commits } from "./commits.ts";

const logger = createLogger({ service: "test", level: "silent" });

function commit(partition: number, end: bigint, send: Commit["send"], isCurrent = (): boolean => true): Commit {
  return { topic: "t", partition, offset: () => end, end, topicId: "id", isCurrent, send };
}

test("only the newest of several offsets of a partition is committed, and all partitions share a request", async () => {
  const sent: Offsets[] = [];
  const send = (offsets: Offsets): Promise<void> => Promise.resolve(void sent.push(offsets));
  const commits = new Commits(logger);
  commits.add(commit(0, 5n, send));
  commits.add(commit(1, 7n, send));
  commits.add(commit(0, 9n, send));
  await commits.flush();
  expect(sent).toEqual([
    {
      topics: [
        {
          topic: "t",
          partitions: [
            { partition: 0, offset: "9", metadata: "id" },
            { partition: 1, offset: "7", metadata: "id" },
          ],
        },
      ],
    },
  ]);
});

test("an offset is never committed after the end of its generation", async () => {
  const sent: Offsets[] = [];
  let current = true;
  const commits = new Commits(logger);
  const send = (offsets: Offsets): Promise<void> => Promise.resolve(void sent.push(offsets));
  commits.add(commit(0, 5n, send, () => current));
  current = false;
  await commits.flush();
  expect(sent).toEqual([]);
});

test("a rejected commit is sent again, unless a newer commit of its partition waits", async () => {
  const sent: (string[] | undefined)[] = [];
  const rejection = deferred<void>();
  const commits = new Commits(logger);
  const send = async (offsets: Offsets): Promise<void> => {
    sent.push(offsets.topics[0]?.partitions.map(({ partition, offset }) => `${partition}:${offset}`));
    if (sent.length === 1) await rejection.promise;
  };
  commits.add(commit(0, 5n, send));
  commits.add(commit(1, 6n, send));
  const flushed = commits.flush();
  commits.add(commit(0, 8n, send));
  rejection.reject(new Error("coordinator is moving"));
  await flushed;
  await commits.flush();
  expect(sent).toEqual([
    ["0:5", "1:6"],
    ["0:8", "1:6"],
  ]);
  commits.stop();
});

test("a batch that becomes durable in parts is committed in parts, and no offset is committed twice", async () => {
  const sent: string[] = [];
  let durable = 3n;
  const commits = new Commits(logger);
  const send = (offsets: Offsets): Promise<void> =>
    Promise.resolve(void sent.push(offsets.topics[0]?.partitions[0]?.offset ?? ""));
  commits.add({ ...commit(0, 8n, send), offset: () => durable });
  await commits.flush();
  await commits.flush();
  durable = 6n;
  await commits.flush();
  durable = 8n;
  await commits.flush();
  await commits.flush();
  expect(sent).toEqual(["3", "6", "8"]);
  commits.stop();
});
