import { commandMessage } from "@kapi/testkit";
import { type Database, statement } from "@kapi/postgres";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import type { FinalState, OpenCommand } from "../src/index.ts";
import { INSERT_INBOX, LOAD_OPEN_BY_ID, READ_OPEN, WRITE_UNIT } from "../src/statements.ts";
import { Harness } from "./harness.ts";

const INSERT_QUEUED = statement<never>(
  "test_insert_queued",
  `insert into command_inbox (command_id, partition, log_offset, server_id, message) values ($1, 0, 0, $2, $3)`,
);

/** Gives PostgreSQL the statistics of a worker without a backlog: nearly no command is open. */
const KNOWN_AS_IDLE = [
  statement<never>(
    "test_insert_ended",
    `insert into command_inbox (command_id, partition, log_offset, server_id, message, status, completed_at)
     select gen_random_uuid(), 0, n, gen_random_uuid(), '{}', 'succeeded', now() from generate_series(1, 5000) n`,
  ),
  statement<never>("test_analyze", "analyze command_inbox"),
];

/** The generic plan of a statement, as PostgreSQL explains it. */
function genericPlanOf(
  database: Database,
  { name, text }: { readonly name: string; readonly text: string },
): Promise<string> {
  const values = Array.from(new Set(text.match(/\$\d+/g)), () => "null").join(", ");
  return database.transaction(async (transaction) => {
    const run = <Row>(step: string, sql: string) => transaction.query(statement<Row>(`test_${step}_${name}`, sql), []);
    await run("generic", "set local plan_cache_mode = force_generic_plan");
    await run("prepare", `prepare generic_${name} as ${text}`);
    const lines = await run<{ "QUERY PLAN": string }>("explain", `explain execute generic_${name}(${values})`);
    return lines.map((line) => line["QUERY PLAN"]).join("\n");
  });
}

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

  it("is retried if another transaction was faster, and then finds the command final", async () => {
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

  it("wipes the message of a final command, stores no result, and still recognizes a repeat", async () => {
    const message = commandMessage();
    const { commandId, serverId } = message;
    await harness.database.query(INSERT_QUEUED, [commandId, serverId, JSON.stringify(message)]);
    const store = harness.startStore();
    await store.value.transact(async (unit) => {
      unit.finish((await unit.readOpen([commandId])).map((command) => succeeded(command, "one")));
    });
    await store.stop();
    expect(await harness.row(commandId)).toMatchObject({ status: "succeeded", message: "", result: null });
    await harness.database.query(INSERT_INBOX, [[0], [commandId], [1], [serverId], JSON.stringify(message), ""]);
    expect(await harness.row(commandId)).toMatchObject({ status: "succeeded", version: 1 });
  });

  // A plan that reads all open commands for each command that becomes final gets slower with the
  // number of waiting commands.
  it("finds its commands by the primary key, even if PostgreSQL's statistics show nearly no open command", async () => {
    for (const step of KNOWN_AS_IDLE) await harness.database.query(step, []);
    for (const byKey of [LOAD_OPEN_BY_ID, READ_OPEN, WRITE_UNIT]) {
      const plan = await genericPlanOf(harness.database, byKey);
      expect(plan).toMatch(/Index Scan using command_inbox_pkey on command_inbox/);
      expect(plan).not.toContain("command_inbox_open");
    }
  });
});
