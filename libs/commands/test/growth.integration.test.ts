import { type AnyCommandMessage, TOPICS } from "@kapi/contracts";
import { assertDefined } from "@kapi/kernel";
import { statement } from "@kapi/postgres";
import { anyAccountNumber, commandMessage, eventually } from "@kapi/testkit";
import { afterEach, beforeEach, expect, it } from "vitest";

import { Harness } from "./harness.ts";

/** Number of partitions after the growth. The harness starts with 2. */
const AFTER = 6;
const POSITIONS = statement<{ partition: number; log_offset: number }>(
  "test_positions",
  "select partition, log_offset from command_inbox where command_id = any($1::uuid[]) order by log_offset",
);
const PARTITIONS = statement<{ topic: string; partitions: number }>(
  "test_inbox_partitions",
  "select topic, partitions from inbox_partitions",
);

let harness: Harness;
beforeEach(async () => {
  harness = await Harness.create();
});
afterEach(() => harness.stop());

/** Commands of one account that the growth moves to another partition. */
function commandsThatMove(count: number): AnyCommandMessage[] {
  for (;;) {
    const accountNumber = anyAccountNumber();
    const first = commandMessage({ accountNumber });
    const { serverId } = first;
    if (harness.partitionAmong(first, AFTER) < 2) continue;
    return [first, ...Array.from({ length: count - 1 }, () => commandMessage({ accountNumber, serverId }))];
  }
}

it("a worker runs the commands of an account from before and after a growth in the order of their acceptance", async () => {
  const all = commandsThatMove(6);
  const [before, after] = [all.slice(0, 3), all.slice(3)];
  const { serverId, accountNumber } = assertDefined(before[0], "a command");
  const ids = all.map(({ commandId }) => commandId);
  const openGate = harness.tradingServer.closeGate();
  await harness.startWorker();
  for (const message of before) await harness.publish(message);
  await eventually(async () => expect(await harness.countOf(serverId)).toBe(before.length));
  const stopping = harness.stopWorker();
  harness.tradingServer.behave(accountNumber ?? "", "unreachable");
  openGate();
  await stopping;

  await harness.grow(AFTER);
  for (const message of after) await harness.publish(message);
  await harness.startWorker();
  await eventually(async () => expect(await harness.countOf(serverId)).toBe(ids.length));
  const positions = await harness.database.query(POSITIONS, [ids]);
  const newPartition = harness.partitionOf(assertDefined(after[0], "a command"));
  expect(new Set(positions.map(({ partition }) => partition))).toEqual(new Set([newPartition]));
  harness.tradingServer.behave(accountNumber ?? "", "apply");
  await eventually(() => expect(harness.tradingServer.applied.filter((id) => ids.includes(id))).toEqual(ids), {
    timeoutMs: 30_000,
  });
  expect(await harness.database.query(PARTITIONS, [])).toEqual([
    { topic: TOPICS.commandsFinance.name, partitions: AFTER },
  ]);
});

it("a worker sends a command that is on a wrong partition to the partition of its account", async () => {
  const message = commandMessage();
  await harness.startWorker();
  await harness.publishMisplaced(1 - harness.partitionOf(message), message);
  await harness.until(message.commandId, "succeeded");
  const [position] = await harness.database.query(POSITIONS, [[message.commandId]]);
  expect(position?.partition).toBe(harness.partitionOf(message));
});

it("a worker does not start if the topic was grown by another tool than the operator's command", async () => {
  await harness.startWorker();
  await harness.stopWorker();
  await harness.growByHand(AFTER);
  await expect(harness.startWorker()).rejects.toThrow("only `kapi admin partitions grow` may change the number");
});
