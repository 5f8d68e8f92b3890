import { TOPICS } from "@kapi/contracts";
import { statement } from "@kapi/postgres";
import { commandMessage, eventually } from "@kapi/testkit";
import { afterAll, beforeAll, expect, it } from "vitest";

import type { Entry } from "../src/entry.ts";
import { LeaseBook } from "../src/lease-book.ts";
import { Partitions } from "../src/partitions.ts";
import type { Scheduler } from "../src/scheduler.ts";
import { Harness } from "./harness.ts";

const PARTITION = 0;
const INSERT = statement<never>(
  "test_insert_of_another",
  `insert into command_inbox (command_id, partition, log_offset, server_id, message) values ($1, ${PARTITION}, $2, $3, $4)`,
);

let harness: Harness;
beforeAll(async () => {
  harness = await Harness.create();
});
afterAll(() => harness.stop());

it("runs what another process took in while the partition was its own, though the fence never changed hands since", async () => {
  const store = harness.startStore();
  const scheduled: string[] = [];
  const scheduler: Pick<Scheduler, "add" | "drop"> = {
    add: (entry: Entry) => void scheduled.push(entry.message.commandId),
    drop: () => undefined,
  };
  const partitions = new Partitions({
    store: store.value,
    leases: new LeaseBook(TOPICS.commandsFinance, "paused"),
    scheduler: scheduler as Scheduler,
    logger: harness.logger,
  });
  const takeInElsewhere = async (offset: number): Promise<string> => {
    const message = commandMessage();
    await harness.database.query(INSERT, [message.commandId, offset, message.serverId, JSON.stringify(message)]);
    return message.commandId;
  };
  const first = await takeInElsewhere(1);
  await partitions.assign([PARTITION]);
  await eventually(() => expect(scheduled).toEqual([first]));

  const second = await takeInElsewhere(2);
  await partitions.assign([PARTITION]);
  await eventually(() => expect(scheduled).toEqual([first, second]));
  await partitions.stop();
  await store.stop();
});
