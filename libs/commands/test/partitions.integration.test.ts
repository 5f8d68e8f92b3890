import { CommandMessage, TOPICS } from "@kapi/contracts";
import { assertDefined, delay, toIso } from "@kapi/kernel";
import { statement } from "@kapi/postgres";
import { commandMessage, eventually } from "@kapi/testkit";
import { afterAll, beforeAll, expect, it } from "vitest";

import type { Entry } from "../src/entry.ts";
import { PartitionLeases } from "../src/partition-leases.ts";
import { REOPEN_DELAY_MS } from "../src/limits.ts";
import { Partitions } from "../src/partitions.ts";
import type { Scheduler } from "../src/scheduler.ts";
import type { CommandStore } from "../src/store.ts";
import { Harness } from "./harness.ts";

const PARTITION = 0;
const EMPTY_PARTITION = 1;
const MINUTE_MS = 60_000;
const INSERT = statement<never>(
  "test_insert_of_another",
  `insert into command_inbox (command_id, partition, log_offset, server_id, message) values ($1, ${PARTITION}, $2, $3, $4)`,
);

const LEASE = statement<{ holder: string; token: number }>(
  "test_partition_lease",
  "select holder, token from partition_lease where topic = $1 and partition = $2",
);
const EXPIRE = statement<never>("test_expire_leases", "update partition_lease set expires_at = now() where topic = $1");

let harness: Harness;
beforeAll(async () => {
  harness = await Harness.create();
});
afterAll(() => harness.stop());

const IDLE: Pick<Scheduler, "add" | "drop"> = { add: () => undefined, drop: () => undefined };

function partitionsOf(
  holder: string,
  { store, leases, scheduler = IDLE }: { store: CommandStore; leases: PartitionLeases; scheduler?: typeof IDLE },
): Partitions {
  const logger = harness.logger.child({ holder });
  return new Partitions({ store, leases, scheduler: scheduler as Scheduler, logger });
}

it("the former holder of a partition leaves it to the member of a later generation, also if the former holder retries", async () => {
  const store = harness.startStore();
  const [formerLeases, laterLeases] = ["former", "later"].map(
    (holder) => new PartitionLeases(TOPICS.commandsAccount, holder),
  );
  const former = partitionsOf("former", { store: store.value, leases: assertDefined(formerLeases, "former") });
  const later = partitionsOf("later", { store: store.value, leases: assertDefined(laterLeases, "later") });
  const lease = async (): Promise<{ holder: string; token: number } | undefined> => {
    const [row] = await harness.database.query(LEASE, [TOPICS.commandsAccount.name, PARTITION]);
    return row;
  };
  await former.assign([PARTITION], 7);
  await eventually(async () => expect(await lease()).toEqual({ holder: "former", token: 1 }));
  await later.assign([PARTITION], 8);
  await eventually(async () => expect(await lease()).toEqual({ holder: "later", token: 2 }));

  former.handleLeaseLost({ partition: PARTITION, token: 1 });
  await delay(2 * REOPEN_DELAY_MS);
  expect(await lease()).toEqual({ holder: "later", token: 2 });

  // A late assignment of the former generation resolves without the lease: otherwise the next
  // assignment would have to wait.
  await former.assign([PARTITION], 7);
  expect(await lease()).toEqual({ holder: "later", token: 2 });

  // The holder stops without releasing its lease. The group is recreated, so its generations
  // restart at 1.
  await later.stop();
  await harness.database.query(EXPIRE, [TOPICS.commandsAccount.name]);
  await former.assign([PARTITION], 1);
  await eventually(async () => expect(await lease()).toMatchObject({ holder: "former" }));
  await former.stop();
  await store.stop();
});

it("a repeated assignment of a partition schedules the commands that another process has inserted, also if the assigned process kept its lease", async () => {
  const store = harness.startStore();
  const scheduled: string[] = [];
  const scheduler: Pick<Scheduler, "add" | "drop"> = {
    add: (entry: Entry) => void scheduled.push(entry.message.commandId),
    drop: () => undefined,
  };
  const leases = new PartitionLeases(TOPICS.commandsFinance, "paused");
  const partitions = partitionsOf("paused", { store: store.value, leases, scheduler });
  const insertElsewhere = async (offset: number): Promise<string> => {
    const message = commandMessage();
    await harness.database.query(INSERT, [message.commandId, offset, message.serverId, JSON.stringify(message)]);
    return message.commandId;
  };
  const first = await insertElsewhere(1);
  await partitions.assign([PARTITION], 1);
  await eventually(() => expect(scheduled).toEqual([first]));

  const second = await insertElsewhere(2);
  await partitions.assign([PARTITION], 1);
  await eventually(() => expect(scheduled).toEqual([first, second]));
  await partitions.stop();
  await store.stop();
});

it("a process knows the oldest command and the earliest deadline, also if the oldest command has the latest deadline", async () => {
  const store = harness.startStore();
  const leases = new PartitionLeases(TOPICS.commandsExport, "measured");
  const partitions = partitionsOf("measured", { store: store.value, leases });
  await partitions.assign([EMPTY_PARTITION], 1);
  await eventually(() => expect(partitions.check()).toBeNull());
  expect([partitions.oldestMs(), partitions.earliestDeadlineMs()]).toEqual([null, null]);

  const nowMs = Date.now();
  const command = (ageMinutes: number, minutesLeft: number, offset: number) => {
    const times = {
      createdAt: toIso(nowMs - ageMinutes * MINUTE_MS),
      deadlineAt: toIso(nowMs + minutesLeft * MINUTE_MS),
    };
    const message = CommandMessage.parse(commandMessage(times));
    return { message, unreadable: null, partition: EMPTY_PARTITION, offset, text: JSON.stringify(message) };
  };
  partitions.add(EMPTY_PARTITION, [command(120, 1_320, 1), command(20, -5, 2), command(1, 14, 3)]);
  expect(partitions.oldestMs()).toBe(nowMs - 120 * MINUTE_MS);
  expect(partitions.earliestDeadlineMs()).toBe(nowMs - 5 * MINUTE_MS);
  await partitions.stop();
  await store.stop();
});
