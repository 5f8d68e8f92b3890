import { randomUUID } from "node:crypto";

import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { type AnyCommandMessage, TOPICS } from "@kapi/contracts";
import { delay, toIso } from "@kapi/kernel";
import { toLines } from "@kapi/outbox";
import { statement } from "@kapi/postgres";
import { anyAccountNumber, commandMessage, eventually } from "@kapi/testkit";

import { MAX_LOADED_PER_SERVER } from "../src/limits.ts";
import { Harness } from "./harness.ts";

const STEAL_LEASE = statement<never>(
  "test_steal_lease",
  "update partition_lease set token = token + 1, holder = 'another' where partition = $1",
);
const INSERT_OPEN = statement<never>(
  "test_insert_open",
  `insert into command_inbox (command_id, partition, log_offset, server_id, message, status, version, attempts)
   values ($1, $2, $3, $4, $5, $6, $7, $8)`,
);
const OUTBOX_COUNT = statement<{ count: number }>("test_outbox_count", "select count(*)::integer as count from outbox");
const INSERT_OUTBOX = statement<never>(
  "test_insert_outbox",
  "insert into outbox (messages, created_at) values ($1, now() - interval '1 minute')",
);

const REFUSE_REQUEUE = statement<never>(
  "test_refuse_requeue",
  `create function refuse_requeue() returns trigger language plpgsql as $$
   begin raise exception 'the database is starting up' using errcode = '57P03'; end $$`,
);
const ADD_REQUEUE_TRIGGER = statement<never>(
  "test_add_requeue_trigger",
  `create trigger refuse_requeue before update on command_inbox for each row
   when (new.status = 'queued' and old.status = 'leased') execute function refuse_requeue()`,
);
const DROP_REQUEUE_TRIGGER = statement<never>(
  "test_drop_requeue_trigger",
  "drop trigger refuse_requeue on command_inbox",
);

describe("a worker", () => {
  let harness: Harness;
  beforeAll(async () => {
    harness = await Harness.create();
    await harness.startWorker();
  });
  afterAll(async () => {
    await harness.stop();
  });

  it("applies a command once and publishes one final state, also if the command's message arrives repeatedly", async () => {
    const message = commandMessage();
    await harness.publish(message, message);
    await harness.until(message.commandId, "succeeded");
    await harness.publish(message, message);
    const last = commandMessage({ serverId: message.serverId, accountNumber: message.accountNumber });
    await harness.publish(last);
    await harness.until(last.commandId, "succeeded");
    expect(harness.tradingServer.executed.filter((id) => id === message.commandId)).toHaveLength(1);
    const [event, ...others] = harness.eventsOf(message.commandId);
    expect(others).toEqual([]);
    expect(event).toMatchObject({
      version: 1,
      attempts: 1,
      result: { done: true },
      settlement: { chargeId: message.commandId, credits: 5, action: "consume" },
    });
  });

  it("fails a command that the trading server rejects, and charges for the command", async () => {
    const message = commandMessage();
    harness.tradingServer.behave(message.accountNumber ?? "", "reject");
    await harness.publish(message);
    expect(await harness.until(message.commandId, "failed")).toMatchObject({
      errorCode: "INSUFFICIENT_FUNDS",
      settlement: { action: "consume" },
    });
  });

  it("applies a command once even if the trading server's answer was lost; until the retry the command is queued", async () => {
    const message = commandMessage();
    harness.tradingServer.behave(message.accountNumber ?? "", "drop-answer");
    await harness.publish(message);
    expect(await harness.until(message.commandId, "queued")).toMatchObject({ attempts: 1, settlement: null });
    harness.tradingServer.behave(message.accountNumber ?? "", "apply");
    expect(await harness.until(message.commandId, "succeeded")).toMatchObject({ attempts: 2 });
    expect(harness.tradingServer.applied.filter((id) => id === message.commandId)).toHaveLength(1);
    const versions = harness.eventsOf(message.commandId).map(({ version }) => version);
    expect(versions).toEqual(versions.toSorted((a, b) => a - b));
    expect(new Set(versions).size).toBe(versions.length);
  });

  it("reports a command as leased during a long attempt", async () => {
    const message = commandMessage();
    harness.tradingServer.behave(message.accountNumber ?? "", "hang");
    await harness.publish(message);
    expect(await harness.until(message.commandId, "leased")).toMatchObject({ version: 1, attempts: 1 });
    harness.tradingServer.release();
    expect(await harness.until(message.commandId, "succeeded")).toMatchObject({ version: 2, attempts: 1 });
  });

  it("changes nothing without a valid fencing token; it acquires the lease again, and applies the command once", async () => {
    const message = commandMessage();
    harness.tradingServer.behave(message.accountNumber ?? "", "hang");
    await harness.publish(message);
    await harness.until(message.commandId, "leased");
    await harness.database.query(STEAL_LEASE, [harness.partitionOf(message)]);
    harness.tradingServer.behave(message.accountNumber ?? "", "apply");
    harness.tradingServer.release();
    // The partition is still assigned to the worker, so it acquires the lease again and retries.
    expect(await harness.until(message.commandId, "succeeded")).toMatchObject({ version: 3 });
    expect(harness.eventsOf(message.commandId).map(({ status }) => status)).toEqual(["leased", "queued", "succeeded"]);
    expect(harness.tradingServer.applied.filter((id) => id === message.commandId)).toHaveLength(1);
  });

  it("runs the commands that an earlier holder of the lease left open, in log order", async () => {
    await harness.stopWorker();
    const accountNumber = anyAccountNumber();
    const first = commandMessage({ accountNumber });
    const second = commandMessage({ accountNumber, serverId: first.serverId });
    const partition = harness.partitionOf(first);
    const insert = (message: AnyCommandMessage, offset: number, status: string, version: number, attempts: number) =>
      harness.database.query(INSERT_OPEN, [
        message.commandId,
        partition,
        offset,
        message.serverId,
        JSON.stringify(message),
        status,
        version,
        attempts,
      ]);
    await insert(second, 1_000_001, "queued", 0, 0);
    await insert(first, 1_000_000, "leased", 1, 1);
    await harness.startWorker();
    await harness.until(first.commandId, "succeeded");
    await harness.until(second.commandId, "succeeded");
    expect(harness.eventsOf(first.commandId).map(({ status, version }) => [status, version])).toEqual([
      ["queued", 2],
      ["succeeded", 3],
    ]);
    const order = harness.tradingServer.applied.filter((id) => id === first.commandId || id === second.commandId);
    expect(order).toEqual([first.commandId, second.commandId]);
  });

  it("runs a command that an earlier holder of the lease stored after the worker had read the inbox, when the command's message is repeated", async () => {
    const message = commandMessage();
    const values = [message.commandId, harness.partitionOf(message), 0, message.serverId, JSON.stringify(message)];
    await harness.database.query(INSERT_OPEN, [...values, "queued", 0, 0]);
    await harness.publish(message);
    await harness.until(message.commandId, "succeeded");
    expect(harness.tradingServer.executed.filter((id) => id === message.commandId)).toHaveLength(1);
  });

  it("makes every command final once while partitions move to another worker and back", async () => {
    const serverId = randomUUID();
    const messages = Array.from({ length: 3_000 }, () => commandMessage({ serverId }));
    const before = harness.tradingServer.applied.length;
    const publishing = (async () => {
      for (let index = 0; index < messages.length; index += 100) {
        await harness.publish(...messages.slice(index, index + 100));
        await delay(20);
      }
    })();
    const another = await harness.startAnother();
    await publishing;
    await another.stop();
    await eventually(() => harness.tradingServer.applied.length - before >= messages.length, { timeoutMs: 30_000 });
    await eventually(
      () => {
        const final = new Set(harness.events.filter(({ settlement }) => settlement !== null).map((e) => e.commandId));
        return messages.every(({ commandId }) => final.has(commandId));
      },
      { timeoutMs: 30_000 },
    );
    const finals = harness.events.filter((event) => event.serverId === serverId && event.settlement !== null);
    expect(finals).toHaveLength(messages.length);
    expect(harness.tradingServer.applied.length - before).toBe(messages.length);
  });

  it("does not retry a command that another process has made final, and runs the account's next command", async () => {
    const message = commandMessage();
    const { serverId, accountNumber } = message;
    const next = commandMessage({ serverId, accountNumber });
    harness.tradingServer.behave(accountNumber ?? "", "pending");
    await harness.publish(message);
    await eventually(() => harness.tradingServer.executed.includes(message.commandId));
    harness.tradingServer.behave(accountNumber ?? "", "apply");
    await harness.publish(next);
    const other = harness.startStore();
    await other.value.transact(async (unit) => {
      const [command] = await unit.readOpen([message.commandId]);
      if (command === undefined) throw new Error("the command is not open");
      unit.finish([{ command, status: "succeeded", result: {}, errorCode: null, errorMessage: null }]);
    });
    await harness.until(next.commandId, "succeeded");
    await other.stop();
    expect(harness.tradingServer.executed.filter((id) => id === message.commandId)).toHaveLength(1);
  });

  it("expires an unsent command past its deadline, and releases its credits", async () => {
    const message = commandMessage({ deadlineAt: toIso(Date.now() - 1_000) });
    await harness.publish(message);
    expect(await harness.until(message.commandId, "expired")).toMatchObject({
      attempts: 0,
      settlement: { action: "release" },
    });
    expect(harness.tradingServer.applied).not.toContain(message.commandId);
  });

  it("keeps a sent command queued past its deadline until settling gives its outcome", async () => {
    const [applied, closed] = [1, 2].map(() => commandMessage({ deadlineAt: toIso(Date.now() + 5_000) }));
    if (applied === undefined || closed === undefined) throw new Error("a command is missing");
    harness.tradingServer.settles = false;
    for (const { accountNumber } of [applied, closed]) harness.tradingServer.behave(accountNumber ?? "", "unreachable");
    await harness.publish(applied, closed);
    await harness.until(applied.commandId, "queued");
    await harness.until(closed.commandId, "queued");
    await eventually(() => Date.now() > Date.parse(applied.deadlineAt) + 1_500, { timeoutMs: 15_000 });
    for (const { commandId } of [applied, closed]) {
      expect((await harness.row(commandId))?.status).toBe("queued");
    }
    // The first attempt of one command applies late, but before it is settled.
    harness.tradingServer.applyLate(applied.commandId);
    harness.tradingServer.settles = true;
    await harness.until(applied.commandId, "succeeded", 30_000);
    await harness.until(closed.commandId, "expired", 30_000);
    harness.tradingServer.applyLate(closed.commandId);
    expect(harness.tradingServer.applied).not.toContain(closed.commandId);
  });

  it("expires a leased command if its return to `queued` could not be written before its deadline", async () => {
    const message = commandMessage({ deadlineAt: toIso(Date.now() + 3_000) });
    const { serverId, accountNumber } = message;
    const next = commandMessage({ serverId, accountNumber });
    await harness.database.query(REFUSE_REQUEUE, []);
    harness.tradingServer.behave(accountNumber ?? "", "unreachable");
    const openGate = harness.tradingServer.closeGate();
    await harness.publish(message);
    await harness.until(message.commandId, "leased");
    await harness.database.query(ADD_REQUEUE_TRIGGER, []);
    openGate();
    await eventually(() => Date.now() > Date.parse(message.deadlineAt) + 1_000, { timeoutMs: 15_000 });
    await harness.database.query(DROP_REQUEUE_TRIGGER, []);
    await harness.until(message.commandId, "expired", 20_000);
    expect(harness.eventsOf(message.commandId).map(({ status }) => status)).toEqual(["leased", "queued", "expired"]);
    harness.tradingServer.behave(accountNumber ?? "", "apply");
    await harness.publish(next);
    await harness.until(next.commandId, "succeeded");
  });

  it("fails only the command that cannot be processed, after settling it", async () => {
    const serverId = randomUUID();
    const broken = commandMessage({ serverId });
    const others = Array.from({ length: 5 }, () => commandMessage({ serverId }));
    harness.tradingServer.behave(broken.accountNumber ?? "", "throw");
    await harness.publish(broken, ...others);
    for (const { commandId } of others) await harness.until(commandId, "succeeded");
    expect(await harness.until(broken.commandId, "failed", 30_000)).toMatchObject({ errorCode: "INTERNAL" });
    harness.tradingServer.applyLate(broken.commandId);
    expect(harness.tradingServer.applied).not.toContain(broken.commandId);
  });

  it("fails a command with an unreadable message, and runs the account's next command", async () => {
    const message = commandMessage();
    const { serverId, accountNumber } = message;
    const next = commandMessage({ serverId, accountNumber });
    const secret = "sealed-text-of-a-password";
    await harness.publishRaw(
      `${serverId}/${accountNumber}`,
      JSON.stringify({ ...message, payload: "of another version", sealedPassword: secret }),
    );
    await harness.publish(next);
    expect(await harness.until(message.commandId, "failed")).toMatchObject({
      operation: message.operation,
      errorCode: "INTERNAL",
      settlement: { chargeId: message.commandId, credits: message.reservedCredits },
    });
    await harness.until(next.commandId, "succeeded");
    expect(harness.tradingServer.executed).not.toContain(message.commandId);
    expect(JSON.stringify(await harness.row(message.commandId))).not.toContain(secret);
  });

  it("fails a command with a damaged fingerprint after the command was read back from the inbox, and never runs it", async () => {
    const before = commandMessage();
    const { serverId, accountNumber } = before;
    const damaged = commandMessage({ serverId, accountNumber, fingerprint: "damaged" });
    harness.tradingServer.behave(accountNumber ?? "", "hang");
    await harness.publish(before, damaged);
    await harness.until(before.commandId, "leased");
    expect(await eventually(() => harness.row(damaged.commandId))).toMatchObject({ status: "queued" });
    await harness.database.query(STEAL_LEASE, [harness.partitionOf(before)]);
    harness.tradingServer.behave(accountNumber ?? "", "apply");
    harness.tradingServer.release();
    await harness.until(before.commandId, "succeeded");
    expect(await harness.until(damaged.commandId, "failed")).toMatchObject({ errorCode: "INTERNAL" });
    expect(harness.tradingServer.executed).not.toContain(damaged.commandId);
  });

  it.each([
    ["queued", 0],
    ["leased", 1],
  ])("fails a %s command whose unreadable message was stored without a fingerprint", async (status, version) => {
    const message = commandMessage({ fingerprint: "" });
    await harness.stopWorker();
    const text = JSON.stringify({ ...message, unreadable: true });
    const values = [message.commandId, harness.partitionOf(message), 3_000_000 + version, message.serverId, text];
    await harness.database.query(INSERT_OPEN, [...values, status, version, version]);
    await harness.startWorker();
    expect(await harness.until(message.commandId, "failed")).toMatchObject({ errorCode: "INTERNAL" });
  });

  it("settles and fails a command that an earlier holder of the lease left open with an unreadable message", async () => {
    const message = commandMessage();
    await harness.stopWorker();
    const text = JSON.stringify({ ...message, unreadable: true });
    const values = [message.commandId, harness.partitionOf(message), 2_000_000, message.serverId, text];
    await harness.database.query(INSERT_OPEN, [...values, "queued", 0, 0]);
    await harness.startWorker();
    expect(await harness.until(message.commandId, "failed")).toMatchObject({ errorCode: "INTERNAL" });
    harness.tradingServer.applyLate(message.commandId);
    expect(harness.tradingServer.applied).not.toContain(message.commandId);
  });

  it("writes a message that names no command to the dead letters without its content, and continues", async () => {
    const message = commandMessage();
    const secret = "sealed-text-of-a-password";
    await harness.publishRaw(
      `${message.serverId}/${message.accountNumber}`,
      JSON.stringify({ sealedPassword: secret }),
    );
    await harness.publish(message);
    await harness.until(message.commandId, "succeeded");
    const letter = await eventually(() => harness.deadLetters[0] ?? false);
    const everything = letter.value.toString("utf8") + JSON.stringify(letter.headers);
    expect(everything).not.toContain(secret);
    expect(everything).toContain("not a command message");
  });

  it("wipes a sealed password when the command is final", async () => {
    const sealedPassword = { keyId: "k1", iv: "aXY", ciphertext: "Y2lwaGVy", tag: "dGFn" };
    const message = commandMessage({ sealedPassword });
    harness.tradingServer.behave(message.accountNumber ?? "", "hang");
    await harness.publish(message);
    await harness.until(message.commandId, "leased");
    expect((await harness.row(message.commandId))?.sealed_password).toContain("Y2lwaGVy");
    harness.tradingServer.release();
    await harness.until(message.commandId, "succeeded");
    expect((await harness.row(message.commandId))?.sealed_password).toBeNull();
  });

  it("publishes the messages that a crashed process had committed, in order", async () => {
    const message = commandMessage();
    await harness.publish(message);
    const event = await harness.until(message.commandId, "succeeded");
    const [commandId, last] = [randomUUID(), randomUUID()];
    const left = [
      { ...event, commandId },
      { ...event, commandId, version: event.version + 1 },
      { ...event, commandId: last },
    ];
    const lines = toLines(
      left.map((one) => ({ topic: TOPICS.commandEvents, key: one.commandId, value: JSON.stringify(one) })),
    );
    await harness.database.query(INSERT_OUTBOX, [lines]);
    await eventually(() => harness.eventsOf(commandId).length > 1 && harness.eventsOf(last).length > 0);
    await eventually(async () => (await harness.database.query(OUTBOX_COUNT, []))[0]?.count === 0);
    expect(harness.eventsOf(commandId)).toEqual(left.slice(0, 2));
    expect(harness.eventsOf(last)).toHaveLength(1);
  });

  it("applies more commands than fit in memory, and the commands of each account in log order", async () => {
    const serverId = randomUUID();
    const organizationId = randomUUID();
    const accounts = Array.from({ length: 300 }, () => anyAccountNumber());
    const messages = Array.from({ length: 12_000 }, (_, index) => {
      const accountNumber = accounts[index % accounts.length] ?? "";
      return commandMessage({ serverId, organizationId, accountNumber });
    });
    const before = harness.tradingServer.applied.length;
    const openGate = harness.tradingServer.closeGate();
    await harness.publish(...messages);
    await eventually(async () => (await harness.countOf(serverId)) === messages.length, { timeoutMs: 30_000 });
    expect(harness.worker?.loaded()).toBeLessThanOrEqual(2 * MAX_LOADED_PER_SERVER);
    openGate();
    await eventually(() => harness.tradingServer.applied.length - before >= messages.length, { timeoutMs: 50_000 });
    const position = new Map(harness.tradingServer.applied.slice(before).map((commandId, index) => [commandId, index]));
    expect(position.size).toBe(messages.length);
    for (let index = accounts.length; index < messages.length; index += 1) {
      const earlier = position.get(messages[index - accounts.length]?.commandId ?? "");
      expect(earlier).toBeLessThan(position.get(messages[index]?.commandId ?? "") ?? -1);
    }
  });
});
