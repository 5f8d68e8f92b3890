import { randomUUID } from "node:crypto";

import type { CommandOperation } from "@kapi/contracts";
import { startPool, statement } from "@kapi/postgres";
import { createLogger } from "@kapi/runtime";
import { eventually } from "@kapi/testkit";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { Harness } from "./harness.ts";

const LOCK_ACCOUNTS = statement<never>("test-lock-accounts", "lock table accounts in access exclusive mode");
let env: Harness;
beforeAll(async () => {
  env = await Harness.create();
});
afterAll(async () => {
  await env.stop();
});

/** Waits for `count` events of an account. */
function accountEvents(accountNumber: string, count: number) {
  return eventually(() => {
    const found = env.eventsOf(accountNumber);
    return found.length >= count && found;
  });
}

describe("an update", () => {
  it("changes name and leverage on the trading server and in reads, with a new version and an event", async () => {
    const account = await env.account();
    const before = (await env.details(account)).body.account;
    const payload = { accountName: "Renamed {\"'}", leverage: 200 };
    expect(await env.run(account, "account.update", { payload })).toMatchObject({
      status: "succeeded",
      result: { ...payload, version: before.version + 1 },
    });
    const { account: after } = (await env.details(account)).body;
    expect(after).toMatchObject({ ...payload, version: before.version + 1, status: "active" });
    expect(after.updatedAt > before.updatedAt).toBe(true);
    expect(await env.client.snapshot(env.server.serverId, account)).toMatchObject(payload);
    const published = await accountEvents(account, 2);
    expect(published.map(({ type, accountSequence }) => [type, accountSequence])).toEqual([
      ["account.created", 1],
      ["account.updated", 2],
    ]);
    expect(published[1]).toMatchObject({ ...payload, version: after.version, occurredAt: after.updatedAt });
  });

  it("to the present values succeeds and changes nothing", async () => {
    const account = await env.account();
    const payload = { accountName: "Trader" };
    expect(await env.run(account, "account.update", { payload })).toMatchObject({
      status: "succeeded",
      result: { accountName: "Trader", leverage: 100, version: 2 },
    });
    expect((await env.details(account)).body.account.version).toBe(2);
    await env.run(account, "account.disable");
    expect((await accountEvents(account, 2)).map(({ type }) => type)).toEqual(["account.created", "account.disabled"]);
  });

  it("to an unsupported leverage fails and changes nothing on the trading server", async () => {
    const server = await env.publishServer();
    const elsewhere = { serverId: server.serverId };
    const account = await env.account({ ...elsewhere });
    const configuration = `/internal/servers/${server.serverId}/configuration`;
    expect((await env.call("PATCH", configuration, { supportedLeverage: [50] })).status).toBe(200);
    // The account has this leverage already: the trading server would accept the update.
    const payload = { accountName: "Other", leverage: 100 };
    expect(await env.run(account, "account.update", { ...elsewhere, payload })).toMatchObject({
      status: "failed",
      errorCode: "LEVERAGE_NOT_SUPPORTED",
      settlement: { action: "consume" },
    });
    expect(await env.client.snapshot(server.serverId, account)).toMatchObject({
      accountName: "Trader",
      leverage: 100,
    });
  });

  it("without sufficient margin fails with the trading server's reason", async () => {
    const account = await env.account({ payload: { accountName: "Poor", initialBalance: 200, leverage: 1000 } });
    await env.openPosition(account);
    expect(await env.run(account, "account.update", { payload: { leverage: 1 } })).toMatchObject({
      status: "failed",
      errorCode: "INSUFFICIENT_FUNDS",
    });
    expect((await env.details(account)).body.account.leverage).toBe(1000);
  });
});

describe("commands on an account", () => {
  const enable = "account.enable";
  const disable = "account.disable";
  const archive = "account.archive";
  const closeOnly = "account.close_only";
  const isCloseOnly = { status: "close_only", cancelled: [] };
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
    [[closeOnly], { result: { ...isCloseOnly, changed: true } }, "close_only"],
    [[closeOnly, closeOnly], { result: { ...isCloseOnly, changed: false } }, "close_only"],
    [[closeOnly, enable], { result: { status: "active", changed: true } }, "active"],
    [[closeOnly, disable], { result: { status: "disabled", changed: true } }, "disabled"],
    [[closeOnly, archive], { result: { status: "archived", changed: true } }, "archived"],
    [[disable, closeOnly], { status: "failed", errorCode: "INVALID_STATE_TRANSITION" }, "disabled"],
    [[archive, closeOnly], { status: "failed", errorCode: "INVALID_STATE_TRANSITION" }, "archived"],
  ];
  it.each(paths)(
    "in the order %j: the last command ends with %j, and then the account has the status %j, in reads and on the trading server",
    async (path, last, status) => {
      const account = await env.account();
      let event: unknown;
      for (const operation of path) event = await env.run(account, operation);
      expect(event).toMatchObject({ status: "succeeded", ...last });
      const { account: record } = (await env.details(account)).body;
      expect(record.status).toBe(status);
      expect(record.disabledAt !== null).toBe(path.includes(disable) && path[0] !== archive);
      expect(record.archivedAt !== null).toBe(path.includes(archive));
      expect((await env.client.snapshot(env.server.serverId, account))?.status).toBe(status);
      const names = path.filter(
        (operation, index) => path[index - 1] !== operation && !(index === 0 && operation === enable),
      );
      const changes = "errorCode" in last ? names.slice(0, -1) : names;
      const published = await accountEvents(account, 1 + changes.length);
      expect(published.map(({ type }) => type)).toEqual([
        "account.created",
        ...changes.map((operation) => (operation === closeOnly ? operation : `${operation}d`)),
      ]);
      expect(published.map(({ accountSequence }) => accountSequence)).toEqual(published.map((_, index) => index + 1));
    },
  );

  it("end login, trading and funding on the trading server if they archive the account; account.enable allows all three again", async () => {
    const creation = await env.publishCreation();
    const account = String((await env.final(creation)).result?.["accountNumber"]);
    const password = env.generated(creation, "trading");
    const deposit = { type: "balance", kind: "deposit", amountMinor: 100, description: null } as const;
    const change = async (): Promise<unknown> =>
      (
        await env.client.change(env.server.serverId, [{ ...deposit, reference: randomUUID(), accountNumber: account }])
      )[0];
    await env.run(account, "account.archive");
    expect(await change()).toMatchObject({ status: "refused", code: "ACCOUNT_ARCHIVED" });
    expect(await env.login(account, password)).toBeNull();
    await expect(env.openPosition(account)).rejects.toThrow("no position");
    await env.run(account, "account.enable");
    expect(await change()).toMatchObject({ status: "applied" });
    expect(await env.login(account, password)).toBe("trading");
    await env.openPosition(account);
  });

  it("publish their events after the account's earlier events, even if trading.events does not have the earlier events", async () => {
    const tradingServer = env.stack.process("trading-simulator");
    await tradingServer.restart({ TICK_INTERVAL_MS: "0", KAFKA_TOPIC_PREFIX: "elsewhere." });
    const account = await env.account();
    const position = await env.openPosition(account);
    await env.control("POST", `/accounts/${account}/positions/${position}/close`, {});
    await env.run(account, "account.update", { payload: { leverage: 5 } });
    const order = { symbol: "EURUSD", side: "buy", orderType: "limit", price: 0.5, volume: 0.1 };
    for (let placed = 0; placed < 3; placed += 1) {
      expect((await env.control("POST", `/accounts/${account}/orders`, order)).status).toBe(201);
    }
    expect(await env.run(account, "account.archive")).toMatchObject({ status: "succeeded" });
    const { orders } = (await env.call("GET", `${env.pathOf(account)}/orders?page=1&limit=20`)).body;
    const cancelled = Array.from({ length: 3 }, () => "cancelled");
    expect(orders.map(({ status }: { status: string }) => status)).toEqual([...cancelled, "executed", "executed"]);
    const published = await accountEvents(account, 12);
    const traded = ["opened", "closed"].flatMap((last) => ["order.executed", "deal.executed", `position.${last}`]);
    const orderEvents = cancelled.map((status) => `order.${status}`);
    const story = ["account.created", ...traded, "account.updated", ...orderEvents, "account.archived"];
    expect(published.map(({ type }) => type)).toEqual(story);
    // Because of these places, the webhooks service numbers the transactions of the last deal
    // before it numbers the update.
    const placeOf = (type: string) => published.findLast((accountEvent) => accountEvent.type === type)?.place;
    expect(placeOf("account.updated")?.after).toBe(placeOf("deal.executed")?.through);
    // A graceful stop would wait until the events are published, and their topic does not exist.
    tradingServer.kill("SIGKILL");
    await tradingServer.ended();
    await tradingServer.restart({ TICK_INTERVAL_MS: "0" });
  });

  it("do not wait for slow answers about the histories of accounts, and neither do creations", async () => {
    const { serverId } = env.server;
    const tradingServer = env.stack.process("trading-simulator");
    await tradingServer.restart({ TICK_INTERVAL_MS: "0", KAFKA_TOPIC_PREFIX: "elsewhere." });
    const [slowest, ...accounts] = await Promise.all(Array.from({ length: 97 }, () => env.account()));
    const slow = { kind: "delay", operation: "history", count: null };
    await env.fault({ ...slow, accountNumber: slowest, delayMs: 6_000 });
    await env.fault({ ...slow, delayMs: 1_200 });
    let isAnswered = false;
    const answered = env.client.history(serverId, slowest ?? "", 0, 1).then(() => (isAnswered = true));
    const payload = { leverage: 5 };
    const updates = await Promise.all(accounts.map((account) => env.publish(account, "account.update", { payload })));
    const creation = await env.publishCreation();
    for (const { commandId } of updates) expect((await env.final(commandId)).status).toBe("succeeded");
    expect((await env.final(creation)).status).toBe("succeeded");
    // The commands ended before the answer that is delayed by 6 s. Reading the histories of all 96
    // other accounts, 8 at once, would take more than 14 s.
    expect(isAnswered).toBe(false);
    await answered;
    await env.control("DELETE", "/faults");
    tradingServer.kill("SIGKILL");
    await tradingServer.ended();
    await tradingServer.restart({ TICK_INTERVAL_MS: "0" });
  });

  it("block new orders if they disable the account", async () => {
    const account = await env.account();
    await env.run(account, "account.disable");
    await expect(env.openPosition(account)).rejects.toThrow("no position");
  });

  it("cannot archive the account if a position is open", async () => {
    const account = await env.account();
    await env.openPosition(account);
    expect(await env.run(account, "account.archive")).toMatchObject({
      status: "failed",
      errorCode: "ACCOUNT_HAS_OPEN_POSITIONS",
    });
    expect((await env.details(account)).body.account.status).toBe("active");
  });

  const operations: CommandOperation[] = [
    "account.update",
    "account.enable",
    "account.disable",
    "account.close_only",
    "account.archive",
    "account.delete",
    "account.password_reset",
    "account.investor_password_reset",
  ];
  it("are all rejected while the account is pending; account.enable and account.update are rejected if its creation failed", async () => {
    await env.fault({ kind: "unreachable", operation: "create", count: null });
    const creation = await env.publishCreation();
    const pending = await eventually(async () => {
      const { body } = await env.call("GET", `/internal/servers/${env.server.serverId}/accounts?status=pending`);
      return body.accounts.length === 1 && String(body.accounts[0].accountNumber);
    });
    const payload = { accountName: "Other" };
    const codes = await Promise.all(operations.map((operation) => env.run(pending, operation, { payload })));
    expect(new Set(codes.map(({ errorCode }) => errorCode))).toEqual(new Set(["ACCOUNT_NOT_READY"]));
    await env.control("DELETE", "/faults");
    expect((await env.final(creation)).status).toBe("succeeded");

    await env.fault({ kind: "refuse", code: "INVALID_CHANGE", operation: "create", count: 1 });
    const refused = await env.final(await env.publishCreation());
    expect(refused).toMatchObject({ status: "failed", errorCode: "REJECTED_BY_SERVER" });
    const { body } = await env.call("GET", `/internal/servers/${env.server.serverId}/accounts?status=failed`);
    const failed = String(body.accounts[0].accountNumber);
    expect(await env.run(failed, "account.enable")).toMatchObject({ errorCode: "INVALID_STATE_TRANSITION" });
    expect(await env.run(failed, "account.update", { payload })).toMatchObject({ errorCode: "ACCOUNT_NOT_READY" });
  });

  it.each(operations)("fail with ACCOUNT_NOT_FOUND if the account is unknown: %s", async (operation) => {
    expect(await env.run("99999999", operation, { payload: { leverage: 1 } })).toMatchObject({
      status: "failed",
      errorCode: "ACCOUNT_NOT_FOUND",
    });
  });

  it("fail with SERVER_DISABLED if the server is disabled", async () => {
    const server = await env.publishServer();
    const { serverId } = server;
    const account = await env.account({ serverId });
    await env.publishServer({ ...server, version: 2, status: "disabled" });
    const shown = (): Promise<unknown> => env.call("GET", `/internal/servers/${serverId}/configuration`);
    await eventually(async () => expect(await shown()).toMatchObject({ body: { server: { status: "disabled" } } }));
    expect(await env.run(account, "account.disable", { serverId })).toMatchObject({ errorCode: "SERVER_DISABLED" });
    expect((await env.client.snapshot(serverId, account))?.status).toBe("active");
  });
});

describe("a password reset", () => {
  it("replaces the trading password, whether kapi generates the new password or the caller supplies it", async () => {
    const creation = await env.publishCreation();
    const account = String((await env.final(creation)).result?.["accountNumber"]);
    const first = await env.publish(account, "account.password_reset");
    const event = await env.final(first.commandId);
    expect(event).toMatchObject({ status: "succeeded" });
    const { credentials } = (await env.details(account)).body;
    expect(event.result).toEqual({ changedAt: credentials.tradingPasswordChangedAt });
    expect(await env.login(account, env.generated(first.commandId, "trading"))).toBe("trading");
    expect(await env.login(account, env.generated(creation, "trading"))).toBeNull();
    expect(await env.login(account, env.generated(creation, "investor"))).toBe("investor");

    const commandId = randomUUID();
    const supplied = { commandId, sealedPassword: env.sealed(commandId, "My own secret 1") };
    expect(await env.run(account, "account.password_reset", supplied)).toMatchObject({ status: "succeeded" });
    expect(await env.login(account, "My own secret 1")).toBe("trading");
    expect(await env.login(account, env.generated(first.commandId, "trading"))).toBeNull();
    const published = await accountEvents(account, 3);
    expect(published.slice(1)).toMatchObject([
      { type: "account.password_changed", passwordKind: "trading", accountSequence: 2 },
      { type: "account.password_changed", passwordKind: "trading", accountSequence: 3 },
    ]);
    expect(JSON.stringify([published, env.events])).not.toContain("My own secret");
  });

  it("of the investor password keeps the trading password", async () => {
    const creation = await env.publishCreation();
    const account = String((await env.final(creation)).result?.["accountNumber"]);
    const reset = await env.publish(account, "account.investor_password_reset");
    const { result } = await env.final(reset.commandId);
    expect(await env.login(account, env.generated(reset.commandId, "investor"))).toBe("investor");
    expect(await env.login(account, env.generated(creation, "investor"))).toBeNull();
    expect(await env.login(account, env.generated(creation, "trading"))).toBe("trading");
    const { credentials } = (await env.details(account)).body;
    expect(result).toEqual({ changedAt: credentials.investorPasswordChangedAt });
    expect(credentials.tradingPasswordChangedAt < credentials.investorPasswordChangedAt).toBe(true);
  });
});

describe("a search that takes too long", () => {
  it("fails after 2 s with a retryable error, with or without pages", async () => {
    const { postgresUrl: connectionString } = env.stack.environment;
    const logger = createLogger({ service: "test", level: "silent" });
    const pool = await startPool({ connectionString, schema: "account", applicationName: "test", logger });
    const path = `/internal/servers/${env.server.serverId}/accounts?search=nobody`;
    const startedMs = performance.now();
    const answers = await pool.value.transaction(async (tx) => {
      await tx.query(LOCK_ACCOUNTS, []);
      return Promise.all([env.call("GET", `${path}&limit=5`), env.call("GET", path)]);
    });
    // The timeout of other statements is 4 s.
    expect(performance.now() - startedMs).toBeLessThan(3_900);
    await pool.stop();
    for (const answer of answers) expect(answer).toMatchObject({ status: 500, code: "DEPENDENCY_UNAVAILABLE" });
    expect(await env.call("GET", path)).toMatchObject({ status: 200, body: { accounts: [] } });
  });
});

describe("after a failure", () => {
  const points = ["after-execute", "in-transaction", "after-publish"];
  it.each(points)("of the service at %s, each command is carried out once, with one event", async (point) => {
    const account = await env.account();
    await env.restart(`account.${point}`);
    // A password reset that is executed twice changes the account twice.
    const reset = await env.publish(account, "account.password_reset");
    const update = await env.publish(account, "account.update", { payload: { leverage: 50 } });
    await env.died();
    await env.restart();
    const { changedAt } = (await env.final(reset.commandId)).result ?? {};
    expect((await env.final(update.commandId)).result).toEqual({ accountName: "Trader", leverage: 50, version: 4 });
    expect((await accountEvents(account, 3)).map(({ type, accountSequence }) => [type, accountSequence])).toEqual([
      ["account.created", 1],
      ["account.password_changed", 2],
      ["account.updated", 3],
    ]);
    expect((await env.details(account)).body.credentials.tradingPasswordChangedAt).toBe(changedAt);
    expect(await env.client.eventSequence(env.server.serverId, account)).toBe(3);
  });

  it("of the trading server, which loses an answer or applies a change late, the account is changed once", async () => {
    const account = await env.account();
    await env.fault({ kind: "drop_answer", accountNumber: account, operation: "update", count: 1 });
    const update = env.run(account, "account.update", { payload: { accountName: "Dropped" } });
    expect(await update).toMatchObject({ status: "succeeded", result: { accountName: "Dropped", version: 3 } });
    await env.fault({
      kind: "apply_late",
      accountNumber: account,
      operation: "set_status",
      count: 1,
      delayMs: 300,
    });
    const archive = await env.run(account, "account.archive");
    expect(archive).toMatchObject({ status: "succeeded", result: { status: "archived", changed: true } });
    expect(await env.client.eventSequence(env.server.serverId, account)).toBe(3);
  });
});
