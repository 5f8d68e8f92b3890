import { randomBytes, randomUUID } from "node:crypto";

import type { CommandOperation } from "@kapi/contracts";
import { createPool, statement } from "@kapi/postgres";
import { createLogger } from "@kapi/runtime";
import { eventually, onWrongClock } from "@kapi/testkit";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { World } from "./world.ts";

const LOCK_ACCOUNTS = statement<never>("test-lock-accounts", "lock table accounts in access exclusive mode");
let world: World;
beforeAll(async () => {
  world = await World.create();
});
afterAll(async () => {
  await world.stop();
});

/** Waits for `count` facts of an account. */
function facts(accountNumber: string, count: number) {
  return eventually(() => {
    const found = world.factsOf(accountNumber);
    return found.length >= count && found;
  });
}

describe("an update", () => {
  it("changes name and leverage on the trading server and in every read, with a new version and a fact", async () => {
    const account = await world.account();
    const before = (await world.details(account)).body.account;
    const payload = { accountName: "Renamed {\"'}", leverage: 200 };
    expect(await world.run(account, "account.update", { payload })).toMatchObject({
      status: "succeeded",
      result: { ...payload, version: before.version + 1 },
    });
    const { account: after } = (await world.details(account)).body;
    expect(after).toMatchObject({ ...payload, version: before.version + 1, status: "active" });
    expect(after.updatedAt > before.updatedAt).toBe(true);
    expect(await world.client.snapshot(world.server.serverId, account)).toMatchObject(payload);
    const told = await facts(account, 2);
    expect(told.map(({ type, accountSequence }) => [type, accountSequence])).toEqual([
      ["account.created", 1],
      ["account.updated", 2],
    ]);
    expect(told[1]).toMatchObject({ ...payload, version: after.version, occurredAt: after.updatedAt });
  });

  it("to what already is so succeeds and changes nothing", async () => {
    const account = await world.account();
    const payload = { accountName: "Trader" };
    expect(await world.run(account, "account.update", { payload })).toMatchObject({
      status: "succeeded",
      result: { accountName: "Trader", leverage: 100, version: 2 },
    });
    expect((await world.details(account)).body.account.version).toBe(2);
    await world.run(account, "account.disable");
    expect((await facts(account, 2)).map(({ type }) => type)).toEqual(["account.created", "account.disabled"]);
  });

  it("to a leverage that the server supports no more fails, and changes nothing", async () => {
    const server = await world.publishServer();
    const elsewhere = { serverId: server.serverId };
    const account = await world.account({ ...elsewhere });
    const configuration = `/internal/servers/${server.serverId}/configuration`;
    expect((await world.call("PATCH", configuration, { supportedLeverage: [50] })).status).toBe(200);
    // Its own: the trading server alone would find nothing to change in it.
    const payload = { accountName: "Other", leverage: 100 };
    expect(await world.run(account, "account.update", { ...elsewhere, payload })).toMatchObject({
      status: "failed",
      errorCode: "LEVERAGE_NOT_SUPPORTED",
      settlement: { action: "consume" },
    });
    expect(await world.client.snapshot(server.serverId, account)).toMatchObject({
      accountName: "Trader",
      leverage: 100,
    });
  });

  it("whose margin the account does not have is refused by the trading server, and the command says why", async () => {
    const account = await world.account({ payload: { accountName: "Poor", initialBalance: 200, leverage: 1000 } });
    await world.openPosition(account);
    expect(await world.run(account, "account.update", { payload: { leverage: 1 } })).toMatchObject({
      status: "failed",
      errorCode: "INSUFFICIENT_FUNDS",
    });
    expect((await world.details(account)).body.account.leverage).toBe(1000);
  });
});

describe("the status", () => {
  const enable = "account.enable";
  const disable = "account.disable";
  const archive = "account.archive";
  const paths: [CommandOperation[], Record<string, unknown>, string][] = [
    [[enable], { result: { status: "active", changed: false } }, "active"],
    [[disable], { result: { status: "disabled", changed: true } }, "disabled"],
    [[disable, disable], { result: { status: "disabled", changed: false } }, "disabled"],
    [[disable, enable], { result: { status: "active", changed: true } }, "active"],
    [[disable, archive], { result: { status: "archived", changed: true } }, "archived"],
    [[archive], { result: { status: "archived", changed: true } }, "archived"],
    [[archive, archive], { result: { status: "archived", changed: false } }, "archived"],
    [[archive, enable], { result: { status: "active", changed: true } }, "active"],
    [[archive, disable], { status: "failed", errorCode: "INVALID_STATE_TRANSITION" }, "archived"],
  ];
  it.each(paths)("after %j: %j, here and on the trading server", async (path, last, status) => {
    const account = await world.account();
    let event: unknown;
    for (const operation of path) event = await world.run(account, operation);
    expect(event).toMatchObject({ status: "succeeded", ...last });
    const { account: record } = (await world.details(account)).body;
    expect(record.status).toBe(status);
    expect(record.disabledAt !== null).toBe(path.includes(disable) && path[0] !== archive);
    expect(record.archivedAt !== null).toBe(path.includes(archive));
    expect((await world.client.snapshot(world.server.serverId, account))?.status).toBe(status);
    const names = path.filter(
      (operation, index) => path[index - 1] !== operation && !(index === 0 && operation === enable),
    );
    const changes = "errorCode" in last ? names.slice(0, -1) : names;
    const told = await facts(account, 1 + changes.length);
    expect(told.map(({ type }) => type)).toEqual(["account.created", ...changes.map((operation) => `${operation}d`)]);
    expect(told.map(({ accountSequence }) => accountSequence)).toEqual(told.map((_, index) => index + 1));
  });

  it("archived ends login, trade and finance on the trading server; enabling brings them back", async () => {
    const creation = await world.publishCreation();
    const account = String((await world.final(creation)).result?.["accountNumber"]);
    const password = world.generated(creation, "trading");
    const deposit = { type: "balance", kind: "deposit", amountMinor: 100, description: null } as const;
    const change = async (): Promise<unknown> =>
      (
        await world.client.change(world.server.serverId, [
          { ...deposit, reference: randomUUID(), accountNumber: account },
        ])
      )[0];
    await world.run(account, "account.archive");
    expect(await change()).toMatchObject({ status: "refused", code: "ACCOUNT_ARCHIVED" });
    expect(await world.login(account, password)).toBeNull();
    await expect(world.openPosition(account)).rejects.toThrow("no position");
    await world.run(account, "account.enable");
    expect(await change()).toMatchObject({ status: "applied" });
    expect(await world.login(account, password)).toBe("trading");
  });

  it("once a command has succeeded, all that happened before is announced and shown, though nothing comes by the topic", async () => {
    const tradingServer = world.stack.process("trading-simulator");
    await tradingServer.restart({ TICK_INTERVAL_MS: "0", KAFKA_TOPIC_PREFIX: "elsewhere." });
    const account = await world.account();
    const position = await world.openPosition(account);
    await world.control("POST", `/accounts/${account}/positions/${position}/close`, {});
    await world.run(account, "account.update", { payload: { leverage: 5 } });
    const order = { symbol: "EURUSD", side: "buy", orderType: "limit", price: 0.5, volume: 0.1 };
    for (let placed = 0; placed < 3; placed += 1) {
      expect((await world.control("POST", `/accounts/${account}/orders`, order)).status).toBe(201);
    }
    expect(await world.run(account, "account.archive")).toMatchObject({ status: "succeeded" });
    const { orders } = (await world.call("GET", `${world.pathOf(account)}/orders?page=1&limit=20`)).body;
    const cancelled = Array.from({ length: 3 }, () => "cancelled");
    expect(orders.map(({ status }: { status: string }) => status)).toEqual([...cancelled, "executed", "executed"]);
    const told = await facts(account, 12);
    const traded = ["opened", "closed"].flatMap((last) => ["order.executed", "deal.executed", `position.${last}`]);
    const orderFacts = cancelled.map((status) => `order.${status}`);
    const story = ["account.created", ...traded, "account.updated", ...orderFacts, "account.archived"];
    expect(told.map(({ type }) => type)).toEqual(story);
    // In the feed the transactions of the last deal come before the update.
    const placeOf = (type: string) => told.findLast((fact) => fact.type === type)?.place;
    expect(placeOf("account.updated")?.after).toBe(placeOf("deal.executed")?.through);
    // Asked to stop it would wait for the topic.
    tradingServer.kill("SIGKILL");
    await tradingServer.ended();
    await tradingServer.restart({ TICK_INTERVAL_MS: "0" });
  });

  it("a slow history holds no commands of the server up", async () => {
    const { serverId } = world.server;
    const tradingServer = world.stack.process("trading-simulator");
    await tradingServer.restart({ TICK_INTERVAL_MS: "0", KAFKA_TOPIC_PREFIX: "elsewhere." });
    const [slowest, ...accounts] = await Promise.all(Array.from({ length: 97 }, () => world.account()));
    const slow = { kind: "delay", operation: "history", count: null };
    await world.fault({ ...slow, accountNumber: slowest, delayMs: 6_000 });
    await world.fault({ ...slow, delayMs: 1_200 });
    let isAnswered = false;
    const answered = world.client.history(serverId, slowest ?? "", 0, 1).then(() => (isAnswered = true));
    const payload = { leverage: 5 };
    const updates = await Promise.all(accounts.map((account) => world.publish(account, "account.update", { payload })));
    const creation = await world.publishCreation();
    for (const { commandId } of updates) expect((await world.final(commandId)).status).toBe("succeeded");
    expect((await world.final(creation)).status).toBe("succeeded");
    // One after the other, 8 at once, the histories of all accounts would take longer than this
    // one.
    expect(isAnswered).toBe(false);
    await answered;
    await world.control("DELETE", "/faults");
    tradingServer.kill("SIGKILL");
    await tradingServer.ended();
    await tradingServer.restart({ TICK_INTERVAL_MS: "0" });
  });

  it("is not archived before that is known: where the history cannot be had, the command is tried again", async () => {
    const account = await world.account();
    await world.control("POST", `/accounts/${account}/orders`, {
      symbol: "EURUSD",
      side: "buy",
      orderType: "limit",
      price: 0.5,
      volume: 0.1,
    });
    await world.fault({ kind: "unreachable", accountNumber: account, operation: "sequence", count: 1 });
    const { commandId } = await world.publish(account, "account.archive");
    const event = await world.final(commandId);
    expect(event).toMatchObject({ status: "succeeded", result: { status: "archived", changed: true } });
    expect(event.attempts).toBeGreaterThan(1);
    const { orders } = (await world.call("GET", `${world.pathOf(account)}/orders?page=1&limit=20`)).body;
    expect(orders).toMatchObject([{ status: "cancelled" }]);
  });

  it("disabled: no new order, but deposits go on", async () => {
    const account = await world.account();
    await world.run(account, "account.disable");
    await expect(world.openPosition(account)).rejects.toThrow("no position");
  });

  it("an account with an open position is not archived", async () => {
    const account = await world.account();
    await world.openPosition(account);
    expect(await world.run(account, "account.archive")).toMatchObject({
      status: "failed",
      errorCode: "ACCOUNT_HAS_OPEN_POSITIONS",
    });
    expect((await world.details(account)).body.account.status).toBe("active");
  });

  const operations: CommandOperation[] = [
    "account.update",
    "account.enable",
    "account.disable",
    "account.archive",
    "account.delete",
    "account.password_reset",
    "account.investor_password_reset",
  ];
  it("nothing can be done to an account that is not opened yet, or whose opening failed", async () => {
    await world.fault({ kind: "unreachable", operation: "create", count: null });
    const creation = await world.publishCreation();
    const pending = await eventually(async () => {
      const { body } = await world.call("GET", `/internal/servers/${world.server.serverId}/accounts?status=pending`);
      return body.accounts.length === 1 && String(body.accounts[0].accountNumber);
    });
    const payload = { accountName: "Other" };
    const codes = await Promise.all(operations.map((operation) => world.run(pending, operation, { payload })));
    expect(new Set(codes.map(({ errorCode }) => errorCode))).toEqual(new Set(["ACCOUNT_NOT_READY"]));
    await world.control("DELETE", "/faults");
    expect((await world.final(creation)).status).toBe("succeeded");

    await world.fault({ kind: "refuse", code: "INVALID_CHANGE", operation: "create", count: 1 });
    const refused = await world.final(await world.publishCreation());
    expect(refused).toMatchObject({ status: "failed", errorCode: "REJECTED_BY_SERVER" });
    const { body } = await world.call("GET", `/internal/servers/${world.server.serverId}/accounts?status=failed`);
    const failed = String(body.accounts[0].accountNumber);
    expect(await world.run(failed, "account.enable")).toMatchObject({ errorCode: "INVALID_STATE_TRANSITION" });
    expect(await world.run(failed, "account.update", { payload })).toMatchObject({ errorCode: "ACCOUNT_NOT_READY" });
  });

  it.each(operations)("%s of an account that never was fails ACCOUNT_NOT_FOUND", async (operation) => {
    expect(await world.run("99999999", operation, { payload: { leverage: 1 } })).toMatchObject({
      status: "failed",
      errorCode: "ACCOUNT_NOT_FOUND",
    });
  });

  it("commands on a disabled server fail SERVER_DISABLED", async () => {
    const server = await world.publishServer();
    const { serverId } = server;
    const account = await world.account({ serverId });
    await world.publishServer({ ...server, version: 2, status: "disabled" });
    const shown = (): Promise<unknown> => world.call("GET", `/internal/servers/${serverId}/configuration`);
    await eventually(async () => expect(await shown()).toMatchObject({ body: { server: { status: "disabled" } } }));
    expect(await world.run(account, "account.disable", { serverId })).toMatchObject({ errorCode: "SERVER_DISABLED" });
    expect((await world.client.snapshot(serverId, account))?.status).toBe("active");
  });
});

describe("a password reset", () => {
  it("lets the trader in with the new password, generated or supplied, and no more with an old one", async () => {
    const creation = await world.publishCreation();
    const account = String((await world.final(creation)).result?.["accountNumber"]);
    const first = await world.publish(account, "account.password_reset");
    const event = await world.final(first.commandId);
    expect(event).toMatchObject({ status: "succeeded" });
    const { credentials } = (await world.details(account)).body;
    expect(event.result).toEqual({ changedAt: credentials.tradingPasswordChangedAt });
    expect(await world.login(account, world.generated(first.commandId, "trading"))).toBe("trading");
    expect(await world.login(account, world.generated(creation, "trading"))).toBeNull();
    expect(await world.login(account, world.generated(creation, "investor"))).toBe("investor");

    const commandId = randomUUID();
    const supplied = { commandId, sealedPassword: world.sealed(commandId, "My own secret 1") };
    expect(await world.run(account, "account.password_reset", supplied)).toMatchObject({ status: "succeeded" });
    expect(await world.login(account, "My own secret 1")).toBe("trading");
    expect(await world.login(account, world.generated(first.commandId, "trading"))).toBeNull();
    const told = await facts(account, 3);
    expect(told.slice(1)).toMatchObject([
      { type: "account.password_changed", passwordKind: "trading", accountSequence: 2 },
      { type: "account.password_changed", passwordKind: "trading", accountSequence: 3 },
    ]);
    expect(JSON.stringify([told, world.events])).not.toContain("My own secret");
  });

  it("of the investor leaves the trader's password alone", async () => {
    const creation = await world.publishCreation();
    const account = String((await world.final(creation)).result?.["accountNumber"]);
    const reset = await world.publish(account, "account.investor_password_reset");
    const { result } = await world.final(reset.commandId);
    expect(await world.login(account, world.generated(reset.commandId, "investor"))).toBe("investor");
    expect(await world.login(account, world.generated(creation, "investor"))).toBeNull();
    expect(await world.login(account, world.generated(creation, "trading"))).toBe("trading");
    const { credentials } = (await world.details(account)).body;
    expect(result).toEqual({ changedAt: credentials.investorPasswordChangedAt });
    expect(credentials.tradingPasswordChangedAt < credentials.investorPasswordChangedAt).toBe(true);
  });
});

describe("a search that takes too long", () => {
  it("is ended after 2 s, of a page or whole, as a failure after which the caller may try again", async () => {
    const { postgresUrl: connectionString } = world.stack.environment;
    const logger = createLogger({ service: "test", level: "silent" });
    const pool = await createPool({ connectionString, schema: "account", applicationName: "test", logger });
    const path = `/internal/servers/${world.server.serverId}/accounts?search=nobody`;
    const startedMs = performance.now();
    const answers = await pool.value.transaction(async (tx) => {
      await tx.query(LOCK_ACCOUNTS, []);
      return Promise.all([world.call("GET", `${path}&limit=5`), world.call("GET", path)]);
    });
    // Below the 4 s that other statements have.
    expect(performance.now() - startedMs).toBeLessThan(3_900);
    await pool.stop();
    for (const answer of answers) expect(answer).toMatchObject({ status: 500, code: "DEPENDENCY_UNAVAILABLE" });
    expect(await world.call("GET", path)).toMatchObject({ status: 200, body: { accounts: [] } });
  });
});

describe("a rotation of the keys that passwords are derived with", () => {
  it("between acceptance and execution changes no password: creation and reset give those that were shown", async () => {
    const account = await world.account();
    await world.restart("account.before-execute");
    const creation = await world.publishCreation();
    const reset = await world.publish(account, "account.password_reset");
    await world.died();
    const rotated = `newer:${randomBytes(32).toString("base64")},${world.stack.secrets.passwordDerivationKeys}`;
    // By the clock of its machine, both are long past their deadlines.
    await world.restart(undefined, { PASSWORD_DERIVATION_KEYS: rotated, ...onWrongClock("ahead") });
    const created = String((await world.final(creation)).result?.["accountNumber"]);
    expect(await world.final(reset.commandId)).toMatchObject({ status: "succeeded" });
    expect(await world.login(created, world.generated(creation, "trading"))).toBe("trading");
    expect(await world.login(created, world.generated(creation, "investor"))).toBe("investor");
    expect(await world.login(account, world.generated(reset.commandId, "trading"))).toBe("trading");
    await world.restart();
  });
});

describe("a crash", () => {
  const points = ["after-execute", "in-transaction", "after-publish"];
  it.each(points)("of the service at %s changes the account once, and tells it once", async (point) => {
    const account = await world.account();
    await world.restart(`account.${point}`);
    // Setting a password twice would be two changes, unlike a status.
    const reset = await world.publish(account, "account.password_reset");
    const update = await world.publish(account, "account.update", { payload: { leverage: 50 } });
    await world.died();
    await world.restart();
    const { changedAt } = (await world.final(reset.commandId)).result ?? {};
    expect((await world.final(update.commandId)).result).toEqual({ accountName: "Trader", leverage: 50, version: 4 });
    expect((await facts(account, 3)).map(({ type, accountSequence }) => [type, accountSequence])).toEqual([
      ["account.created", 1],
      ["account.password_changed", 2],
      ["account.updated", 3],
    ]);
    expect((await world.details(account)).body.credentials.tradingPasswordChangedAt).toBe(changedAt);
    expect(await world.client.eventSequence(world.server.serverId, account)).toBe(3);
  });

  it("of the answer, or one that comes late, changes the account once", async () => {
    const account = await world.account();
    await world.fault({ kind: "drop_answer", accountNumber: account, operation: "update", count: 1 });
    const update = world.run(account, "account.update", { payload: { accountName: "Dropped" } });
    expect(await update).toMatchObject({ status: "succeeded", result: { accountName: "Dropped", version: 3 } });
    await world.fault({ kind: "apply_late", accountNumber: account, operation: "set_status", count: 1, delayMs: 300 });
    const archive = await world.run(account, "account.archive");
    expect(archive).toMatchObject({ status: "succeeded", result: { status: "archived", changed: true } });
    expect(await world.client.eventSequence(world.server.serverId, account)).toBe(3);
  });
});
