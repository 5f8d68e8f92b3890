import { DEAD_LETTER_HEADERS, TOPICS } from "@kapi/contracts";
import { statement } from "@kapi/postgres";
import { createLogger, type Started } from "@kapi/runtime";
import { eventually } from "@kapi/testkit";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";

import type { CommandStore, OutboxMessage } from "../src/index.ts";
import { OUTBOX_POLL_BATCH, OUTBOX_POLL_INTERVAL_MS, OUTBOX_POLL_MAX_BYTES } from "../src/limits.ts";
import { toLines } from "../src/outbox-lines.ts";
import { LEFTOVERS } from "../src/statements.ts";
import { Harness } from "./harness.ts";

/** More than `finance.events` takes, and less than the dead letters do. */
const TOO_LARGE = JSON.stringify("x".repeat(1_000_000));
const INSERT_LEFTOVER = statement<never>(
  "test_insert_leftover",
  `insert into outbox (messages, created_at) values ($1, now() - interval '1 minute')`,
);
const ROWS = statement<{ rows: number }>("test_outbox_rows", "select count(*)::integer as rows from outbox");
const DELETE_ONE = statement<never>("test_delete_one", "delete from outbox where id = $1");

let harness: Harness;
let store: Started<CommandStore> | null = null;
const errors: string[] = [];
const logger = createLogger({ service: "test", level: "error", destination: { write: (line) => errors.push(line) } });

beforeAll(async () => {
  harness = await Harness.create();
});
afterEach(async () => {
  await store?.stop();
  store = null;
});
afterAll(() => harness.stop());

const fact = (key: string, value = '"fact"'): OutboxMessage => ({ topic: TOPICS.financeEvents, key, value });

async function leave(...messages: OutboxMessage[]): Promise<void> {
  await harness.database.query(INSERT_LEFTOVER, [toLines(messages)]);
}

async function rows(): Promise<number | undefined> {
  return (await harness.database.query(ROWS, []))[0]?.rows;
}

const factsOf = (key: string): number => harness.facts.filter((one) => one.key === key).length;

/** What the dead letters tell of a message. */
function buried(key: string) {
  return harness.deadLetters
    .filter((letter) => letter.key === key)
    .map(({ headers, value }) => ({
      reason: headers[DEAD_LETTER_HEADERS.reason]?.toString(),
      topic: headers[DEAD_LETTER_HEADERS.topic]?.toString(),
      bytes: value.length,
    }));
}

describe("a message that is larger than its topic takes", () => {
  it("goes to the dead letters with its reason, loudly; the others of its unit are published, and the unit is done", async () => {
    store = harness.startStore(logger);
    await store.value.transact(async (unit) => unit.enqueue([fact("a"), fact("large-a", TOO_LARGE), fact("b")]));
    await eventually(() => expect([factsOf("a"), factsOf("b"), buried("large-a").length]).toEqual([1, 1, 1]));
    expect(buried("large-a")[0]).toMatchObject({ topic: "finance.events", bytes: TOO_LARGE.length });
    expect(buried("large-a")[0]?.reason).toMatch("larger than");
    expect(errors.join("")).toContain("large-a");
    await eventually(async () => expect(await rows()).toBe(0));
  });

  it("that a process left behind makes none of the other leftovers repeat: each comes once", async () => {
    for (let index = 0; index < OUTBOX_POLL_BATCH + 5; index += 1) await leave(fact(`left-${index}`));
    await leave(fact("large-b", TOO_LARGE), fact("beside"));
    await leave({ topic: TOPICS.commandEvents, key: "huge", value: JSON.stringify("x".repeat(5_000_000)) });
    await leave(fact("behind"));
    store = harness.startStore(logger);
    await eventually(async () => expect(await rows()).toBe(0));
    await eventually(() => expect([buried("large-b").length, buried("huge")[0]?.bytes]).toEqual([1, 0]));
    const before = harness.facts.length;
    await leave(fact("later"));
    await eventually(() => expect(factsOf("later")).toBe(1), { timeoutMs: 5 * OUTBOX_POLL_INTERVAL_MS });
    expect(harness.facts.length).toBe(before + 1);
    const keys = Array.from({ length: OUTBOX_POLL_BATCH + 5 }, (_, index) => `left-${index}`);
    expect([...keys, "beside", "behind"].map(factsOf)).toEqual([...keys, "", ""].map(() => 1));
  });
});

describe("a batch of leftovers", () => {
  it("holds at most so many bytes; a unit that is larger by itself comes alone", async () => {
    const unit = (bytes: number): OutboxMessage => fact("unit", "x".repeat(bytes));
    const sizes = [OUTBOX_POLL_MAX_BYTES + 1, OUTBOX_POLL_MAX_BYTES / 4, OUTBOX_POLL_MAX_BYTES / 4, 3_000, 5_000];
    for (const bytes of sizes) await leave(unit(bytes));
    const found: number[][] = [];
    for (let left = sizes.length; left > 0; left -= found.at(-1)?.length ?? left) {
      const batch = await harness.database.query(LEFTOVERS, [0, OUTBOX_POLL_BATCH, OUTBOX_POLL_MAX_BYTES]);
      found.push(batch.map(({ messages }) => messages.length));
      for (const { id } of batch) await harness.database.query(DELETE_ONE, [id]);
    }
    expect(found.map((batch) => batch.length)).toEqual([1, 4]);
  });
});
