import { TOPICS } from "@kapi/contracts";
import { partitionOfKey } from "@kapi/kafka";
import { createPool, type Database, statement } from "@kapi/postgres";
import { createLogger, type Started } from "@kapi/runtime";
import { eventually } from "@kapi/testkit";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { createFeedGaps } from "../src/outbound/postgres/feed-gaps.ts";
import { deletionIsToldOnce } from "./told-once.ts";
import { World } from "./world.ts";

const HISTORY = statement<{ records: number }>(
  "test-history-records",
  `select (select count(*) from orders where account_number = $1) + (select count(*) from positions where account_number = $1)
     + (select count(*) from deals where account_number = $1) + (select count(*) from feeds where account_number = $1) as records`,
);
const MAKE_DUE = statement(
  "test-deletion-due",
  "update accounts set deletion_due_at = now() where status = 'deleting'",
);

/** As the environment of a test makes them. */
const PARTITIONS = 4;

let world: World;
let database: Started<Database>;
beforeAll(async () => {
  world = await World.create();
  const logger = createLogger({ service: "test", level: "silent" });
  const connectionString = world.stack.environment.postgresUrl;
  database = await createPool({ connectionString, schema: "account", applicationName: "test", logger });
});
afterAll(async () => {
  await database.stop();
  await world.stop();
});

const GONE = { status: 404, code: "ACCOUNT_NOT_FOUND" };
const BELOW = ["", "/orders?page=1&limit=20", "/positions?page=1&limit=20", "/positions?status=open", "/deals"];

/** Everything that shows whether the account is gone. */
async function expectGone(account: string): Promise<void> {
  for (const path of BELOW) expect(await world.call("GET", world.pathOf(account) + path)).toMatchObject(GONE);
  const name = { serverId: world.server.serverId, accountNumber: account };
  const asked = await world.call("POST", "/internal/accounts/existing", { accounts: [name] });
  expect(asked.body).toMatchObject({ existing: [false], ids: [null] });
  const { body } = await world.call("GET", `/internal/servers/${name.serverId}/accounts?search=${account}`);
  expect(body.accounts).toEqual([]);
  expect(await world.client.snapshot(name.serverId, account)).toBeNull();
  expect((await database.value.query(HISTORY, [account]))[0]?.records).toBe(0);
  expect(world.neighbours.deleted).toEqual(expect.arrayContaining([`finance/${account}`, `metrics/${account}`]));
}

const expectToldOnce = (account: string): Promise<void> => deletionIsToldOnce(world, account);

/** An account with history: an open position, and its events booked. */
async function accountWithPosition(): Promise<string> {
  const account = await world.account();
  await world.openPosition(account);
  await eventually(async () => {
    const { body } = await world.call("GET", `${world.pathOf(account)}/deals?page=1&limit=20`);
    expect(body.pagination.total).toBe(1);
  });
  return account;
}

/** An order that waits for a price that does not come. */
async function placeLimit(account: string): Promise<void> {
  const order = { symbol: "EURUSD", side: "buy", orderType: "limit", volume: 0.1, price: 0.5 };
  const { status } = await world.control("POST", `/accounts/${account}/orders`, order);
  expect(status).toBe(201);
}

describe("the queued deletion", () => {
  it("refuses an account with an open position, and deletes it with all that is known of it once there is none", async () => {
    const account = await world.account();
    const positionId = await world.openPosition(account);
    expect(await world.run(account, "account.delete")).toMatchObject({
      status: "failed",
      errorCode: "ACCOUNT_HAS_OPEN_POSITIONS",
    });
    expect((await world.details(account)).body.account.status).toBe("active");
    expect(world.neighbours.deleted).not.toContain(`finance/${account}`);
    await world.control("POST", `/accounts/${account}/positions/${positionId}/close`, {});
    await placeLimit(account);
    const deletion = await world.run(account, "account.delete");
    expect(deletion).toMatchObject({ status: "succeeded", result: { accountNumber: account, deleted: true } });
    await expectGone(account);
    await expectToldOnce(account);
    expect(await world.run(account, "account.enable")).toMatchObject({ errorCode: "ACCOUNT_NOT_FOUND" });
    expect(await world.run(account, "account.delete")).toMatchObject({ errorCode: "ACCOUNT_NOT_FOUND" });
    expect(await world.delete(account)).toMatchObject({ status: 200, body: { accountNumber: account, deleted: true } });
    expect(Number(await world.account())).toBeGreaterThan(Number(account));
  });

  it("is not done before finance and metrics have forgotten the account", async () => {
    const account = await world.account();
    world.neighbours.away.add("finance");
    const { commandId } = await world.publish(account, "account.delete");
    await eventually(() => world.events.some((event) => event.commandId === commandId && event.status === "queued"));
    expect(world.events.some((event) => event.commandId === commandId && event.settlement !== null)).toBe(false);
    world.neighbours.away.clear();
    expect(await world.final(commandId)).toMatchObject({ status: "succeeded" });
    await expectGone(account);
    await expectToldOnce(account);
  });

  it("deletes an account that was never opened, and one that is archived", async () => {
    const archived = await world.account();
    await world.run(archived, "account.archive");
    expect(await world.run(archived, "account.delete")).toMatchObject({ status: "succeeded" });
    await expectGone(archived);
    await world.fault({ kind: "refuse", code: "INVALID_CHANGE", operation: "create", count: 1 });
    await world.final(await world.publishCreation());
    const { body } = await world.call("GET", `/internal/servers/${world.server.serverId}/accounts?status=failed`);
    const failed = String(body.accounts[0].accountNumber);
    expect(await world.run(failed, "account.delete")).toMatchObject({ status: "succeeded" });
    await expectGone(failed);
  });

  it.each(["deletion-trading-server", "deletion-finance", "in-transaction"])(
    "killed at %s, is ended by the next process",
    async (point) => {
      const account = await world.account();
      await world.restart(`account.${point}`);
      const { commandId } = await world.publish(account, "account.delete");
      await world.died();
      await world.restart();
      expect(await world.final(commandId)).toMatchObject({ status: "succeeded", result: { deleted: true } });
      await expectGone(account);
      await expectToldOnce(account);
    },
  );
});

describe("the immediate deletion", () => {
  it("closes open positions and leaves nothing; again it answers the same, and 404 for what never was", async () => {
    const account = await accountWithPosition();
    expect(await world.delete(account)).toMatchObject({ status: 200, body: { accountNumber: account, deleted: true } });
    await expectGone(account);
    expect(await world.delete(account)).toMatchObject({ status: 200, body: { accountNumber: account, deleted: true } });
    expect(await world.delete("99999999")).toMatchObject(GONE);
    await expectToldOnce(account);
  });

  it("announces the closing deals of every position and the cancelled orders, then the deletion", async () => {
    const account = await accountWithPosition();
    await world.openPosition(account);
    await placeLimit(account);
    expect((await world.delete(account)).status).toBe(200);
    await expectGone(account);
    await expectToldOnce(account);
    const closed = ["order.executed", "deal.executed", "position.closed"];
    const types = world.factsOf(account).map(({ type }) => type);
    expect(types.slice(-8)).toEqual([...closed, ...closed, "order.cancelled", "account.deleted"]);
  });

  it("is not done before the closing deals are booked", async () => {
    const account = await accountWithPosition();
    const fault = { kind: "unreachable", accountNumber: account, count: null };
    await world.fault({ ...fault, operation: "history" });
    await world.fault({ ...fault, operation: "sequence" });
    expect(await world.delete(account)).toMatchObject({ status: 500, code: "DEPENDENCY_UNAVAILABLE" });
    expect(await world.client.snapshot(world.server.serverId, account)).toBeNull();
    expect(world.neighbours.deleted).not.toContain(`finance/${account}`);
    await world.control("DELETE", "/faults");
    expect((await world.delete(account)).status).toBe(200);
    await expectGone(account);
    await expectToldOnce(account);
  });

  it("tells the trading server who asked for it, as a creation does, also where a later request ends it", async () => {
    const account = await accountWithPosition();
    world.neighbours.away.add("finance");
    expect((await world.delete(account, "first")).status).toBe(500);
    world.neighbours.away.clear();
    expect((await world.delete(account, "second")).status).toBe(200);
    const { events } = await world.client.history(world.server.serverId, account, 0, 100);
    const told = events.filter(({ createdBy }) => createdBy !== undefined);
    expect(told.map(({ type, createdBy }) => `${type} ${createdBy?.id ?? ""}`)).toEqual(
      expect.arrayContaining(["account.created mfrggzdfmztwq2lk", "deal.executed first", "account.deleted first"]),
    );
    expect(events.find(({ type }) => type === "position.opened")).not.toHaveProperty("createdBy");
  });

  it("several at once are one", async () => {
    const account = await accountWithPosition();
    const answers = await Promise.all(Array.from({ length: 8 }, () => world.delete(account)));
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
    await expectGone(account);
    await expectToldOnce(account);
  });

  it("late events bring nothing back", async () => {
    const account = await accountWithPosition();
    const { serverId } = world.server;
    const key = `${serverId}/${account}`;
    const { events } = await world.client.history(serverId, account, 0, 100);
    await world.delete(account);
    for (const event of events) await world.send(TOPICS.tradingEvents, key, event);
    const late = { ...events.at(-1), sequence: 50, eventId: "0192d3a0-0000-7000-8000-0000000000ff" };
    await world.send(TOPICS.tradingEvents, key, late);
    // The events of an account on the same partition come behind them: once those are booked, these
    // were read.
    const partition = partitionOfKey(key, PARTITIONS);
    let witness = "";
    do witness = await accountWithPosition();
    while (partitionOfKey(`${serverId}/${witness}`, PARTITIONS) !== partition);
    await expectGone(account);
    await expectToldOnce(account);
  });

  it("waits for the running command; what is queued behind it fails ACCOUNT_NOT_FOUND", async () => {
    const account = await world.account();
    await world.fault({ kind: "delay", accountNumber: account, operation: "update", count: 1, delayMs: 1_000 });
    const running = await world.publish(account, "account.update", { payload: { leverage: 5 } });
    await eventually(() =>
      world.events.some((event) => event.commandId === running.commandId && event.status === "leased"),
    );
    const deleted = world.delete(account);
    expect((await world.details(account)).body.account.status).toBe("active");
    expect((await world.final(running.commandId)).status).toBe("succeeded");
    expect((await deleted).status).toBe(200);
    expect(await world.run(account, "account.disable")).toMatchObject({ errorCode: "ACCOUNT_NOT_FOUND" });
    await expectGone(account);
  });

  it("answers 500 where the running command takes more than 5 s, and leaves the account as it is", async () => {
    const account = await world.account();
    await world.restart(undefined, { TRADING_SERVER_TIMEOUT_MS: "20000" });
    await world.fault({ kind: "delay", accountNumber: account, operation: "update", count: 1, delayMs: 7_000 });
    const running = await world.publish(account, "account.update", { payload: { leverage: 5 } });
    await eventually(() =>
      world.events.some((event) => event.commandId === running.commandId && event.status === "leased"),
    );
    expect(await world.delete(account)).toMatchObject({ status: 500, code: "DEPENDENCY_UNAVAILABLE" });
    expect((await world.details(account)).body.account.status).toBe("active");
    expect((await world.final(running.commandId)).status).toBe("succeeded");
    expect((await world.delete(account)).status).toBe(200);
    await world.restart();
  });

  it("of an account whose command is between two attempts settles it, so that it never applies", async () => {
    const account = await world.account();
    await world.fault({ kind: "unreachable", accountNumber: account, operation: "update", count: 2 });
    const update = await world.publish(account, "account.update", { payload: { leverage: 5 } });
    await eventually(() => world.events.some((event) => event.commandId === update.commandId && event.attempts >= 1));
    expect((await world.delete(account)).status).toBe(200);
    expect(await world.final(update.commandId)).toMatchObject({ status: "failed", errorCode: "ACCOUNT_NOT_FOUND" });
    expect((await world.client.settle(world.server.serverId, [update.commandId]))[0]?.status).toBe("closed");
  });

  it("of a pending account: its creation can never open it any more, also where it arrives at once", async () => {
    const { serverId } = world.server;
    await world.fault({ kind: "unreachable", operation: "create", count: null });
    const creation = await world.publishCreation();
    const pending = await eventually(async () => {
      const { body } = await world.call("GET", `/internal/servers/${serverId}/accounts?status=pending`);
      return body.accounts.length === 1 && String(body.accounts[0].accountNumber);
    });
    // By now its command rests for some seconds, longer than the deletion takes: only the deletion
    // can settle it.
    await eventually(() => world.events.some((event) => event.commandId === creation && event.attempts >= 3));
    expect((await world.delete(pending)).status).toBe(200);
    await world.control("DELETE", "/faults");
    const [outcome] = await world.client.change(serverId, [
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
    expect(await world.final(creation)).toMatchObject({ status: "failed", errorCode: "ACCOUNT_NOT_FOUND" });
    await expectGone(pending);
  });

  it("of a pending account that was opened and traded on announces its creation first", async () => {
    await world.fault({ kind: "drop_answer", operation: "create", count: null });
    const creation = await world.publishCreation();
    await eventually(() => world.events.some((event) => event.commandId === creation && event.attempts >= 3));
    const { body } = await world.call("GET", `/internal/servers/${world.server.serverId}/accounts?status=pending`);
    const pending = String(body.accounts[0].accountNumber);
    await world.openPosition(pending);
    expect((await world.delete(pending)).status).toBe(200);
    await world.control("DELETE", "/faults");
    await expectGone(pending);
    await expectToldOnce(pending);
    const opened = ["order.executed", "deal.executed", "position.opened"];
    const closed = ["order.executed", "deal.executed", "position.closed"];
    const types = world.factsOf(pending).map(({ type }) => type);
    expect(types).toEqual(["account.created", ...opened, ...closed, "account.deleted"]);
  });

  it("answers 500 while a neighbour or the trading server is away or refuses, and a retry completes it", async () => {
    for (const name of ["finance", "metrics"] as const) {
      const account = await world.account();
      world.neighbours.away.add(name);
      expect(await world.delete(account)).toMatchObject({ status: 500, code: "DEPENDENCY_UNAVAILABLE" });
      expect((await world.details(account)).body.account.status).toBe("deleting");
      expect(await world.run(account, "account.enable")).toMatchObject({ errorCode: "ACCOUNT_NOT_FOUND" });
      world.neighbours.away.clear();
      expect((await world.delete(account)).status).toBe(200);
      await expectGone(account);
    }
    const faults = [
      { kind: "unreachable", operation: "delete" },
      { kind: "drop_answer", operation: "delete" },
      { kind: "refuse", operation: "delete", code: "INVALID_CHANGE" },
    ];
    for (const fault of faults) {
      const account = await world.account();
      await world.fault({ ...fault, accountNumber: account, count: 1 });
      expect(await world.delete(account)).toMatchObject({ status: 500, code: "DEPENDENCY_UNAVAILABLE" });
      expect((await world.delete(account)).status).toBe(200);
      await expectGone(account);
      await expectToldOnce(account);
    }
  });

  it("that nobody repeats is ended by the service itself", async () => {
    const account = await world.account();
    world.neighbours.away.add("metrics");
    expect((await world.delete(account)).status).toBe(500);
    world.neighbours.away.clear();
    await database.value.query(MAKE_DUE, []);
    await eventually(async () => expect(await world.details(account)).toMatchObject(GONE));
    await expectGone(account);
    await expectToldOnce(account);
  });

  const steps = ["marked", "settled", "trading-server", "booked", "history", "finance", "metrics", "finished"];
  it.each(steps)("killed after %s, is completed by the retry", async (step) => {
    const account = await accountWithPosition();
    await world.restart(`account.deletion-${step}`);
    await expect(world.delete(account)).rejects.toThrow("fetch failed");
    await world.died();
    await world.restart();
    expect(await world.delete(account)).toMatchObject({ status: 200, body: { deleted: true } });
    await expectGone(account);
    await expectToldOnce(account);
  });
});

describe("a deletion that the trading server has carried out", () => {
  /** Has the service look at it again until it is ended. */
  async function ended(account: string): Promise<void> {
    const onceMore = async (): Promise<void> => {
      await database.value.query(MAKE_DUE, []);
      expect(await world.details(account)).toMatchObject(GONE);
    };
    await eventually(onceMore, { timeoutMs: 50_000, intervalMs: 500 });
  }

  it("announces what was closed also where that takes longer than a read may wait", async () => {
    const account = await accountWithPosition();
    await world.restart(undefined, { TRADING_SERVER_TIMEOUT_MS: "10000" });
    await world.fault({ kind: "delay", accountNumber: account, operation: "sequence", count: 1, delayMs: 3_000 });
    expect((await world.delete(account)).status).toBe(200);
    await expectGone(account);
    await expectToldOnce(account);
    await world.control("DELETE", "/faults");
    await world.restart();
  });

  it("ends though its last events cannot be booked: after some tries it goes on without them", async () => {
    const account = await world.account();
    const broken = `alter table orders add check (account_number <> '${account}') not valid`;
    await database.value.query(statement<never>("test-park-account", broken), []);
    await world.openPosition(account);
    expect(await world.delete(account)).toMatchObject({ status: 500, code: "DEPENDENCY_UNAVAILABLE" });
    expect.soft(await createFeedGaps(database.value).count(10)).toBe(1);
    await ended(account);
    await expectGone(account);
    const told = (): string[] => world.factsOf(account).map(({ type }) => type);
    await eventually(() => expect(told()).toEqual(["account.created", "account.deleted"]));
    expect((await world.delete(account)).status).toBe(200);
  });

  it("queued, ends though its last events cannot be had", async () => {
    const account = await world.account();
    await placeLimit(account);
    await world.fault({ kind: "unreachable", accountNumber: account, operation: "history", count: null });
    await world.fault({ kind: "unreachable", accountNumber: account, operation: "sequence", count: null });
    const { commandId } = await world.publish(account, "account.delete");
    await ended(account);
    expect(await world.final(commandId)).toMatchObject({ status: "succeeded", result: { deleted: true } });
    await expectGone(account);
    await world.control("DELETE", "/faults");
  });
});
