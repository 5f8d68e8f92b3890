import { TOPICS } from "@kapi/contracts";
import { partitionOfKey } from "@kapi/kafka";
import { eventually } from "@kapi/testkit";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { DeletionEnvironment, GONE } from "./deletion-environment.ts";
import type { Harness } from "./harness.ts";

/** Number of partitions of a topic in a test environment. */
const PARTITIONS = 4;

let deletion: DeletionEnvironment;
let env: Harness;
beforeAll(async () => {
  deletion = await DeletionEnvironment.start();
  env = deletion.harness;
});
afterAll(() => deletion.stop());

describe("the queued deletion", () => {
  it("fails if a position is open, and deletes all data of the account after the position is closed", async () => {
    const account = await env.account();
    const positionId = await env.openPosition(account);
    expect(await env.run(account, "account.delete")).toMatchObject({
      status: "failed",
      errorCode: "ACCOUNT_HAS_OPEN_POSITIONS",
    });
    expect((await env.details(account)).body.account.status).toBe("active");
    expect(env.neighbours.deleted).not.toContain(`finance/${account}`);
    await env.control("POST", `/accounts/${account}/positions/${positionId}/close`, {});
    await deletion.placeLimit(account);
    const queued = await env.run(account, "account.delete");
    expect(queued).toMatchObject({ status: "succeeded", result: { accountNumber: account, deleted: true } });
    await deletion.expectGone(account);
    await deletion.expectPublishedOnce(account);
    expect(await env.run(account, "account.enable")).toMatchObject({ errorCode: "ACCOUNT_NOT_FOUND" });
    expect(await env.run(account, "account.delete")).toMatchObject({ errorCode: "ACCOUNT_NOT_FOUND" });
    expect(await env.delete(account)).toMatchObject({ status: 200, body: { accountNumber: account, deleted: true } });
    expect(Number(await env.account())).toBeGreaterThan(Number(account));
  });

  it("is retried while finance is unavailable", async () => {
    const account = await env.account();
    env.neighbours.unavailable.add("finance");
    const { commandId } = await env.publish(account, "account.delete");
    await eventually(() => env.events.some((event) => event.commandId === commandId && event.status === "queued"));
    expect(env.events.some((event) => event.commandId === commandId && event.settlement !== null)).toBe(false);
    env.neighbours.unavailable.clear();
    expect(await env.final(commandId)).toMatchObject({ status: "succeeded" });
    await deletion.expectGone(account);
    await deletion.expectPublishedOnce(account);
  });

  it("deletes an archived account, and an account whose creation failed", async () => {
    const archived = await env.account();
    await env.run(archived, "account.archive");
    expect(await env.run(archived, "account.delete")).toMatchObject({ status: "succeeded" });
    await deletion.expectGone(archived);
    await env.fault({ kind: "refuse", code: "INVALID_CHANGE", operation: "create", count: 1 });
    await env.final(await env.publishCreation());
    const { body } = await env.call("GET", `/internal/servers/${env.server.serverId}/accounts?status=failed`);
    const failed = String(body.accounts[0].accountNumber);
    expect(await env.run(failed, "account.delete")).toMatchObject({ status: "succeeded" });
    await deletion.expectGone(failed);
  });

  it.each(["deletion-finance"])("whose process is killed at %s is completed by the next process", async (point) => {
    const account = await env.account();
    await env.restart(`account.${point}`);
    const { commandId } = await env.publish(account, "account.delete");
    await env.died();
    await env.restart();
    expect(await env.final(commandId)).toMatchObject({ status: "succeeded", result: { deleted: true } });
    await deletion.expectGone(account);
    await deletion.expectPublishedOnce(account);
  });
});

describe("the immediate deletion", () => {
  it("closes open positions and deletes all data; a repeat gets the same answer, an unknown account 404", async () => {
    const account = await deletion.accountWithPosition();
    expect(await env.delete(account)).toMatchObject({ status: 200, body: { accountNumber: account, deleted: true } });
    await deletion.expectGone(account);
    expect(await env.delete(account)).toMatchObject({ status: 200, body: { accountNumber: account, deleted: true } });
    expect(await env.delete("99999999")).toMatchObject(GONE);
    await deletion.expectPublishedOnce(account);
  });

  it("publishes closing deals and cancelled orders before the deletion", async () => {
    const account = await deletion.accountWithPosition();
    await env.openPosition(account);
    await deletion.placeLimit(account);
    expect((await env.delete(account)).status).toBe(200);
    await deletion.expectGone(account);
    await deletion.expectPublishedOnce(account);
    const closed = ["order.executed", "deal.executed", "position.closed"];
    const types = env.eventsOf(account).map(({ type }) => type);
    expect(types.slice(-8)).toEqual([...closed, ...closed, "order.cancelled", "account.deleted"]);
  });

  it("answers 500, and finance keeps the account's data, until the closing deals are booked", async () => {
    const account = await deletion.accountWithPosition();
    const fault = { kind: "unreachable", accountNumber: account, count: null };
    await env.fault({ ...fault, operation: "history" });
    await env.fault({ ...fault, operation: "sequence" });
    expect(await env.delete(account)).toMatchObject({ status: 500, code: "DEPENDENCY_UNAVAILABLE" });
    expect(await env.client.snapshot(env.server.serverId, account)).toBeNull();
    expect(env.neighbours.deleted).not.toContain(`finance/${account}`);
    await env.control("DELETE", "/faults");
    expect((await env.delete(account)).status).toBe(200);
    await deletion.expectGone(account);
    await deletion.expectPublishedOnce(account);
  });

  it("tells the trading server the key of the first caller, even if a later request completes the deletion", async () => {
    const account = await deletion.accountWithPosition();
    env.neighbours.unavailable.add("finance");
    expect((await env.delete(account, "first")).status).toBe(500);
    env.neighbours.unavailable.clear();
    expect((await env.delete(account, "second")).status).toBe(200);
    const { events } = await env.client.history(env.server.serverId, account, 0, 100);
    const published = events.filter(({ createdBy }) => createdBy !== undefined);
    expect(published.map(({ type, createdBy }) => `${type} ${createdBy?.id ?? ""}`)).toEqual(
      expect.arrayContaining(["account.created mfrggzdfmztwq2lk", "deal.executed first", "account.deleted first"]),
    );
    expect(events.find(({ type }) => type === "position.opened")).not.toHaveProperty("createdBy");
  });

  it("is carried out once for concurrent requests", async () => {
    const account = await deletion.accountWithPosition();
    const answers = await Promise.all(Array.from({ length: 8 }, () => env.delete(account)));
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
    await deletion.expectGone(account);
    await deletion.expectPublishedOnce(account);
  });

  it("is not undone by late events", async () => {
    const account = await deletion.accountWithPosition();
    const { serverId } = env.server;
    const key = `${serverId}/${account}`;
    const { events } = await env.client.history(serverId, account, 0, 100);
    await env.delete(account);
    for (const event of events) await env.send(TOPICS.tradingEvents, key, event);
    const late = { ...events.at(-1), sequence: 50, eventId: "0192d3a0-0000-7000-8000-0000000000ff" };
    await env.send(TOPICS.tradingEvents, key, late);
    // A partition is read in order. So after the events of another account of this partition
    // are booked, the late events have been read.
    const partition = partitionOfKey(key, PARTITIONS);
    let witness = "";
    do witness = await deletion.accountWithPosition();
    while (partitionOfKey(`${serverId}/${witness}`, PARTITIONS) !== partition);
    await deletion.expectGone(account);
    await deletion.expectPublishedOnce(account);
  });

  it("waits for the account's running command; commands after the deletion fail with ACCOUNT_NOT_FOUND", async () => {
    const account = await env.account();
    await env.fault({ kind: "delay", accountNumber: account, operation: "update", count: 1, delayMs: 1_000 });
    const running = await env.publish(account, "account.update", { payload: { leverage: 5 } });
    await eventually(() =>
      env.events.some((event) => event.commandId === running.commandId && event.status === "leased"),
    );
    const deleted = env.delete(account);
    expect((await env.details(account)).body.account.status).toBe("active");
    expect((await env.final(running.commandId)).status).toBe("succeeded");
    expect((await deleted).status).toBe(200);
    expect(await env.run(account, "account.disable")).toMatchObject({ errorCode: "ACCOUNT_NOT_FOUND" });
    await deletion.expectGone(account);
  });

  it("answers 500 and changes nothing if the account's running command takes more than 5 s", async () => {
    const account = await env.account();
    await env.restart(undefined, { TRADING_SERVER_TIMEOUT_MS: "20000" });
    await env.fault({ kind: "delay", accountNumber: account, operation: "update", count: 1, delayMs: 7_000 });
    const running = await env.publish(account, "account.update", { payload: { leverage: 5 } });
    await eventually(() =>
      env.events.some((event) => event.commandId === running.commandId && event.status === "leased"),
    );
    expect(await env.delete(account)).toMatchObject({ status: 500, code: "DEPENDENCY_UNAVAILABLE" });
    expect((await env.details(account)).body.account.status).toBe("active");
    expect((await env.final(running.commandId)).status).toBe("succeeded");
    expect((await env.delete(account)).status).toBe(200);
    await env.restart();
  });

  it("settles a command that is between two attempts", async () => {
    const account = await env.account();
    await env.fault({ kind: "unreachable", accountNumber: account, operation: "update", count: 2 });
    const update = await env.publish(account, "account.update", { payload: { leverage: 5 } });
    await eventually(() => env.events.some((event) => event.commandId === update.commandId && event.attempts >= 1));
    expect((await env.delete(account)).status).toBe(200);
    expect(await env.final(update.commandId)).toMatchObject({ status: "failed", errorCode: "ACCOUNT_NOT_FOUND" });
    expect((await env.client.settle(env.server.serverId, [update.commandId]))[0]?.status).toBe("closed");
  });

  it("of a pending account prevents the creation, even if the trading server gets the creation later", async () => {
    const { serverId } = env.server;
    await env.fault({ kind: "unreachable", operation: "create", count: null });
    const creation = await env.publishCreation();
    const pending = await eventually(async () => {
      const { body } = await env.call("GET", `/internal/servers/${serverId}/accounts?status=pending`);
      return body.accounts.length === 1 && String(body.accounts[0].accountNumber);
    });
    // The command waits for some seconds before its next attempt, longer than the deletion takes.
    // So only the deletion can settle the command.
    await eventually(() => env.events.some((event) => event.commandId === creation && event.attempts >= 3));
    expect((await env.delete(pending)).status).toBe(200);
    await env.control("DELETE", "/faults");
    const [outcome] = await env.client.change(serverId, [
      {
        type: "create",
        reference: creation,
        accountNumber: pending,
        accountName: "Trader",
        leverage: 100,
        currency: "USD",
        initialBalanceMinor: 0,
        tradingPassword: "Trading-1",
        investorPassword: "Investor-1",
      },
    ]);
    expect(outcome?.status).toBe("closed");
    expect(await env.final(creation)).toMatchObject({ status: "failed", errorCode: "ACCOUNT_NOT_FOUND" });
    await deletion.expectGone(pending);
  });

  it("of a pending account with trades publishes the creation of the account first", async () => {
    await env.fault({ kind: "drop_answer", operation: "create", count: null });
    const creation = await env.publishCreation();
    await eventually(() => env.events.some((event) => event.commandId === creation && event.attempts >= 3));
    const { body } = await env.call("GET", `/internal/servers/${env.server.serverId}/accounts?status=pending`);
    const pending = String(body.accounts[0].accountNumber);
    await env.openPosition(pending);
    expect((await env.delete(pending)).status).toBe(200);
    await env.control("DELETE", "/faults");
    await deletion.expectGone(pending);
    await deletion.expectPublishedOnce(pending);
    const opened = ["order.executed", "deal.executed", "position.opened"];
    const closed = ["order.executed", "deal.executed", "position.closed"];
    const types = env.eventsOf(pending).map(({ type }) => type);
    expect(types).toEqual(["account.created", ...opened, ...closed, "account.deleted"]);
  });

  it("answers 500 while a dependency fails, and a retry completes the deletion", async () => {
    for (const name of ["finance", "metrics"] as const) {
      const account = await env.account();
      env.neighbours.unavailable.add(name);
      expect(await env.delete(account)).toMatchObject({ status: 500, code: "DEPENDENCY_UNAVAILABLE" });
      expect((await env.details(account)).body.account.status).toBe("deleting");
      expect(await env.run(account, "account.enable")).toMatchObject({ errorCode: "ACCOUNT_NOT_FOUND" });
      env.neighbours.unavailable.clear();
      expect((await env.delete(account)).status).toBe(200);
      await deletion.expectGone(account);
    }
    const faults = [
      { kind: "unreachable", operation: "delete" },
      { kind: "drop_answer", operation: "delete" },
      { kind: "refuse", operation: "delete", code: "INVALID_CHANGE" },
    ];
    for (const fault of faults) {
      const account = await env.account();
      await env.fault({ ...fault, accountNumber: account, count: 1 });
      expect(await env.delete(account)).toMatchObject({ status: 500, code: "DEPENDENCY_UNAVAILABLE" });
      expect((await env.delete(account)).status).toBe(200);
      await deletion.expectGone(account);
      await deletion.expectPublishedOnce(account);
    }
  });

  it("that failed at first is completed by the service itself, without a second request", async () => {
    const account = await env.account();
    env.neighbours.unavailable.add("metrics");
    expect((await env.delete(account)).status).toBe(500);
    env.neighbours.unavailable.clear();
    await deletion.makeDue();
    await eventually(async () => expect(await env.details(account)).toMatchObject(GONE));
    await deletion.expectGone(account);
    await deletion.expectPublishedOnce(account);
  });

  it.each(["booked"])("whose process is killed after %s is completed by the retry", async (step) => {
    const account = await deletion.accountWithPosition();
    await env.restart(`account.deletion-${step}`);
    await expect(env.delete(account)).rejects.toThrow("fetch failed");
    await env.died();
    await env.restart();
    expect(await env.delete(account)).toMatchObject({ status: 200, body: { deleted: true } });
    await deletion.expectGone(account);
    await deletion.expectPublishedOnce(account);
  });
});

describe("a deletion that the trading server has carried out", () => {
  it("publishes closing deals even if their booking takes longer than 2 s, the maximum wait of a read", async () => {
    const account = await deletion.accountWithPosition();
    await env.restart(undefined, { TRADING_SERVER_TIMEOUT_MS: "10000" });
    await env.fault({ kind: "delay", accountNumber: account, operation: "sequence", count: 1, delayMs: 3_000 });
    expect((await env.delete(account)).status).toBe(200);
    await deletion.expectGone(account);
    await deletion.expectPublishedOnce(account);
    await env.control("DELETE", "/faults");
    await env.restart();
  });
});
