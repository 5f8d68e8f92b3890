import { TOPICS } from "@kapi/contracts";
import type { Database } from "@kapi/postgres";
import { describe, expect, it } from "vitest";

import type { OutboxMessage } from "./message.ts";
import { transactionWithOutbox } from "./transaction.ts";

const message = (key: string, traceparent?: string): OutboxMessage => ({
  topic: TOPICS.creditsEvents,
  key,
  value: "{}",
  traceparent,
});

/** A database and an outbox that log their calls. */
function start(commit: () => Promise<void> = () => Promise.resolve()) {
  const happened: string[] = [];
  const written: unknown[] = [];
  const database = {
    transaction: async <T>(work: (tx: object) => Promise<T>): Promise<T> => {
      const result = await work({
        query: (_statement: object, columns: unknown[]) => {
          happened.push("write");
          written.push(...columns);
          return Promise.resolve([{ id: 1 }, { id: 2 }]);
        },
        execute: () => happened.push("change"),
      });
      await commit();
      happened.push("commit");
      return result;
    },
  } as unknown as Database;
  const publish = (ids: readonly number[], messages: readonly OutboxMessage[]): Promise<boolean> => {
    happened.push(`publish ${messages.map(({ key }) => key).join()} of rows ${ids.join()}`);
    return Promise.resolve(true);
  };
  return { database, outbox: { publish }, happened, written };
}

describe("a transaction that enqueues messages", () => {
  it("writes the messages as its last statement, with topic and span, and publishes after the commit", async () => {
    const { database, outbox, happened, written } = start();
    const value = await transactionWithOutbox(database, outbox, (tx) => {
      tx.enqueue([message("a", "span")]);
      tx.execute({ name: "change", text: "", reads: false }, []);
      tx.enqueue([message("b")]);
      return Promise.resolve("done");
    });
    expect(value).toBe("done");
    expect(happened).toEqual(["change", "write", "commit", "publish a,b of rows 1,2"]);
    expect(written).toEqual([
      ["credits.events", "credits.events"],
      ["a", "b"],
      ["{}", "{}"],
      ["span", null],
    ]);
  });

  it("publishes nothing if the commit fails", async () => {
    const { database, outbox, happened } = start(() => Promise.reject(new Error("not committed")));
    const work = transactionWithOutbox(database, outbox, (tx) => Promise.resolve(tx.enqueue([message("a")])));
    await expect(work).rejects.toThrow("not committed");
    expect(happened).toEqual(["write"]);
  });

  it("rejects a key with a line break, and publishes nothing", async () => {
    const { database, outbox, happened } = start();
    const work = transactionWithOutbox(database, outbox, (tx) => Promise.resolve(tx.enqueue([message("a\nb")])));
    await expect(work).rejects.toThrow("on one line each");
    expect(happened).toEqual([]);
  });

  it("writes no row to the outbox if it has no messages", async () => {
    const { database, outbox, happened } = start();
    await transactionWithOutbox(database, outbox, () => Promise.resolve());
    expect(happened).toEqual(["commit"]);
  });
});
