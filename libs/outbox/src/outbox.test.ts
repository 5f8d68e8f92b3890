import { TOPICS } from "@kapi/contracts";
import type { Producer } from "@kapi/kafka";
import type { Database } from "@kapi/postgres";
import { createLogger } from "@kapi/runtime";
import { eventually } from "@kapi/testkit";
import { expect, it } from "vitest";

import { toLines } from "./lines.ts";
import { startOutbox } from "./outbox.ts";
import { DELETE_ROWS, ROW_PER_TRANSACTION } from "./rows.ts";

const row = (id: number, key: string): { id: number; messages: string } => ({
  id,
  messages: toLines([{ topic: TOPICS.financeEvents, key, value: "{}" }]),
});

it("the outbox keeps an unreadable row in its table, logs the row once, and publishes all other rows once", async () => {
  const rows = [row(1, "a"), { id: 2, messages: "topic.of-newer-release\nkey\n{}" }, row(3, "b"), row(4, "c")];
  const [published, log]: [string[], string[]] = [[], []];
  let rounds = 0;
  const query = (statement: object, [ids]: [readonly number[]]) => {
    if (statement === DELETE_ROWS)
      for (const id of ids)
        rows.splice(
          rows.findIndex((one) => one.id === id),
          1,
        );
    if (statement !== ROW_PER_TRANSACTION.leftovers) return Promise.resolve([]);
    rounds += 1;
    return Promise.resolve([...rows]);
  };
  const database = {
    transaction: (work: (transaction: object) => Promise<unknown>) => work({ query }),
  } as unknown as Database;
  const producer: Pick<Producer, "send"> = {
    send: (_topic, { key }) => {
      published.push(key);
      return Promise.resolve({ partition: 0, offset: 0n });
    },
  };
  const logger = createLogger({ service: "test", level: "error", destination: { write: (line) => log.push(line) } });
  const outbox = startOutbox({ service: "test", database, rows: ROW_PER_TRANSACTION, producer, logger });
  await eventually(() => expect(rounds).toBe(3));
  await outbox.stop();
  expect(published).toEqual(["a", "b", "c"]);
  expect(rows.map(({ id }) => id)).toEqual([2]);
  expect(log).toHaveLength(1);
  expect(JSON.parse(log[0] ?? "")).toMatchObject({
    row: 2,
    err: { message: expect.stringContaining("topic.of-newer") },
  });
  // An unreadable row does not make a process unready.
  expect(outbox.value.check()).toBeNull();
});
