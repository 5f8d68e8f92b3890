import { commandMessage } from "@kapi/testkit";
import { statement } from "@kapi/postgres";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import type { FinalState, OpenCommand } from "../src/index.ts";
import { Harness } from "./harness.ts";

const INSERT_QUEUED = statement<never>(
  "test_insert_queued",
  `insert into command_inbox (command_id, partition, log_offset, server_id, message) values ($1, 0, 0, $2, $3)`,
);

const succeeded = (command: OpenCommand, by: string): FinalState => ({
  command,
  status: "succeeded",
  result: { by },
  errorCode: null,
  errorMessage: null,
});

describe("a unit of work", () => {
  let harness: Harness;
  beforeAll(async () => {
    harness = await Harness.create();
  });
  afterAll(async () => {
    await harness.stop();
  });

  it("that another was faster than does its work again and finds the command final: it ends once", async () => {
    const message = commandMessage();
    const { commandId, serverId } = message;
    await harness.database.query(INSERT_QUEUED, [commandId, serverId, JSON.stringify(message)]);
    const [one, two] = [harness.startStore(), harness.startStore()];
    const bothHaveRead = Promise.withResolvers<void>();
    const readBy: string[] = [];
    const foundOpen = new Map<string, number[]>();
    const finish = (store: typeof one, by: string): Promise<void> =>
      store.value.transact(async (unit) => {
        const open = await unit.readOpen([commandId]);
        foundOpen.set(by, [...(foundOpen.get(by) ?? []), open.length]);
        if (!readBy.includes(by)) readBy.push(by);
        if (readBy.length === 2) bothHaveRead.resolve();
        await bothHaveRead.promise;
        unit.finish(open.map((command) => succeeded(command, by)));
      });
    await Promise.all([finish(one, "one"), finish(two, "two")]);
    await harness.until(commandId, "succeeded");
    await Promise.all([one.stop(), two.stop()]);

    expect([...foundOpen.values()].toSorted((a, b) => a.length - b.length)).toEqual([[1], [1, 0]]);
    expect(harness.eventsOf(commandId)).toHaveLength(1);
    expect(await harness.row(commandId)).toMatchObject({ status: "succeeded", version: 1 });
  });
});
