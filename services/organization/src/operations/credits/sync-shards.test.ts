import { ALL_SHARDS } from "@kapi/admission/redis";
import { expect, it } from "vitest";

import { unreadyReasonOf } from "./sync-shards.ts";

const [shard = 0, other = 1] = ALL_SHARDS;

it.each([
  ["ready if every shard is synced", { unsynced: [], unreachable: [] }, null],
  ["ready if some shards do not answer", { unsynced: [], unreachable: [shard, other] }, null],
  [
    "unready if a sync did not succeed",
    { unsynced: [shard], unreachable: [other] },
    "1 of 64 wallet shards are unsynced",
  ],
  [
    "unready if no shard answers",
    { unsynced: [], unreachable: ALL_SHARDS },
    "Redis does not answer for any wallet shard",
  ],
])("a process is %s", (_name, states, reason) => {
  expect(unreadyReasonOf(states)).toBe(reason);
});
