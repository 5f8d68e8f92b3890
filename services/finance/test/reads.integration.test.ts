import { randomUUID } from "node:crypto";

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";

import { type AnyCommandMessage, ExportRecord, type Transaction, TransactionsAnswer } from "@kapi/contracts";
import { toIso } from "@kapi/kernel";
import { accountCreated, anyAccountNumber, balanceChanged, commandMessage, eventually } from "@kapi/testkit";

import { Harness } from "./harness.ts";
import { startHistoryServer } from "./history-server.ts";

const NOON_MS = Date.UTC(2026, 4, 1, 12);
/** ISO 8601 with microseconds. */
const toPreciseIso = (ms: number): string =>
  toIso(Math.floor(ms)).replace("Z", `${String(Math.round((ms % 1) * 1_000)).padStart(3, "0")}Z`);
const HistoryAnswer = z.object({ records: z.array(ExportRecord) });

let harness: Harness;
beforeAll(async () => {
  harness = await Harness.create();
});
afterAll(async () => {
  await harness.stop();
});

function command(accountNumber: string, overrides: Partial<AnyCommandMessage> = {}): AnyCommandMessage {
  const { serverId, organizationId } = harness.server;
  return commandMessage({ serverId, organizationId, accountNumber, ...overrides });
}

function pathOf(accountNumber: string, rest = "", serverId = harness.server.serverId): string {
  return `${serverId}/accounts/${accountNumber}${rest}`;
}

async function page(accountNumber: string, query = "", serverId?: string) {
  const { status, body } = await harness.call("GET", pathOf(accountNumber, `/transactions${query}`, serverId));
  expect(status).toBe(200);
  return TransactionsAnswer.parse(body);
}

async function history(accountNumber: string, query: string, serverId?: string) {
  const { status, body } = await harness.call("GET", pathOf(accountNumber, `/history?${query}`, serverId));
  expect(status).toBe(200);
  return HistoryAnswer.parse(body).records;
}

/**
 * An account on a stand-in for a trading server, with one event at each given time. All events
 * are booked.
 */
async function bookedAt(timesMs: readonly number[]): Promise<{ serverId: string; accountNumber: string }> {
  const standIn = await startHistoryServer();
  const name = { serverId: randomUUID(), accountNumber: anyAccountNumber() };
  await harness.publishServer({ ...harness.server, serverId: name.serverId, tradingServerUrl: standIn.url });
  const events = timesMs.map((ms, index) =>
    index === 0
      ? accountCreated({ ...name, sequence: 1, occurredAt: toPreciseIso(ms), initialBalanceMinor: 100 })
      : balanceChanged({
          ...name,
          sequence: index + 1,
          occurredAt: toPreciseIso(ms),
          amountMinor: 100,
          balanceMinor: 100 * (index + 1),
        }),
  );
  standIn.answer(events);
  await harness.publishEvent(events.at(-1));
  await eventually(
    async () => (await harness.transactions(name.accountNumber, name.serverId)).length === timesMs.length,
  );
  // From here on, reads use the ledger; the stand-in only returns its last sequence.
  stops.push(() => standIn.stop());
  return name;
}
const stops: (() => Promise<void>)[] = [];
afterAll(async () => {
  await Promise.all(stops.map((stop) => stop()));
});

describe("the reads of the ledger", () => {
  it("show the transaction of a command as soon as the command succeeds, newest transaction first", async () => {
    const accountNumber = await harness.openAccount(5_000);
    const deposit = command(accountNumber, { payload: { amount: 100.25, description: "first" }, requestId: "r-9" });
    await harness.publish(deposit);
    const final = await harness.final(deposit.commandId);
    const { transactions, pagination } = await page(accountNumber);
    expect(pagination).toEqual({ page: 1, limit: 20, total: 2, totalPages: 1, nextCursor: null });
    const [newest, first] = transactions;
    expect(newest).toEqual({
      id: final.result?.["transactionId"],
      accountNumber,
      sequence: 2,
      type: "deposit",
      amount: 100.25,
      currency: "USD",
      balanceBefore: 50,
      balanceAfter: 150.25,
      description: "first",
      requestId: "r-9",
      commandId: deposit.commandId,
      orderId: null,
      positionId: null,
      dealId: null,
      reversalOf: null,
      createdBy: deposit.createdBy,
      recordedAt: expect.any(String),
      createdAt: expect.any(String),
    } satisfies Record<keyof Transaction, unknown>);
    expect(first).toMatchObject({ type: "initial_balance", amount: 50, balanceBefore: 0, description: null });
    // This creation was sent without a caller.
    expect(first?.createdBy).toBeNull();
    // The ledger booked the deposit after the trading server recorded it.
    expect(Date.parse(newest?.createdAt ?? "")).toBeGreaterThanOrEqual(Date.parse(newest?.recordedAt ?? ""));
  });

  it("show the initial balance as soon as the account is open on its trading server", async () => {
    // The stand-in returns its events only when asked; the topic delivers none.
    const standIn = await startHistoryServer();
    stops.push(() => standIn.stop());
    const name = { serverId: randomUUID(), accountNumber: anyAccountNumber() };
    await harness.publishServer({ ...harness.server, serverId: name.serverId, tradingServerUrl: standIn.url });
    const read = () => harness.call("GET", pathOf(name.accountNumber, "/transactions", name.serverId));
    await eventually(async () => (await read()).errorCode === "DEPENDENCY_UNAVAILABLE");
    const createdBy = { type: "key", id: "aaaaaaaaaaaaaaaa" } as const;
    standIn.answer([accountCreated({ ...name, sequence: 1, initialBalanceMinor: 777, createdBy })]);
    const answer = await eventually(async () => {
      const { status, body } = await read();
      // While the directory does not know the server, the read fails instead of showing an empty
      // page.
      return status === 200 && TransactionsAnswer.parse(body);
    });
    expect(answer.transactions).toMatchObject([
      { type: "initial_balance", amount: 7.77, balanceAfter: 7.77, createdBy },
    ]);
  });

  it("name the deal and the order that a profit belongs to", async () => {
    const accountNumber = await harness.openAccount(1_000_000);
    const at = `/servers/${harness.server.serverId}/accounts/${accountNumber}`;
    const placed = z
      .object({ positionId: z.string() })
      .parse(await harness.tradingServer.control("POST", `${at}/orders`, { symbol: "EURUSD", side: "buy", volume: 1 }));
    await harness.tradingServer.control("POST", `/servers/${harness.server.serverId}/prices/EURUSD/move`, {
      points: 90,
    });
    await harness.tradingServer.control("POST", `${at}/positions/${placed.positionId}/close`, {});
    const records = await history(accountNumber, "limit=10");
    const profit = records.find((record) => record.kind === "transaction" && record.type === "realized_pnl");
    expect(profit).toMatchObject({
      kind: "transaction",
      positionId: placed.positionId,
      commandId: null,
      requestId: null,
    });
    expect(profit).toMatchObject({ dealId: expect.any(String), orderId: expect.any(String) });
  });

  it("give an empty page for an account that is not open yet, and beyond the last page", async () => {
    const nobody = await page(anyAccountNumber());
    expect(nobody).toMatchObject({ transactions: [], pagination: { total: 0, totalPages: 0, nextCursor: null } });
    expect(await history(anyAccountNumber(), "limit=5")).toEqual([]);
    const accountNumber = await harness.openAccount(100);
    const beyond = await page(accountNumber, `?page=${Number.MAX_SAFE_INTEGER.toString().slice(0, 15)}&limit=100`);
    expect(beyond).toMatchObject({ transactions: [], pagination: { total: 1, totalPages: 1 } });
  });

  it("page the ledger without gaps or repeats", async () => {
    const name = await bookedAt(Array.from({ length: 25 }, (_, index) => NOON_MS + index));
    const pages = await Promise.all(
      [1, 2, 3].map((number) => page(name.accountNumber, `?page=${number}&limit=10`, name.serverId)),
    );
    expect(pages.flatMap(({ transactions }) => transactions.map(({ sequence }) => sequence))).toEqual(
      Array.from({ length: 25 }, (_, index) => 25 - index),
    );
    expect(pages[2]?.pagination).toEqual({ page: 3, limit: 10, total: 25, totalPages: 3, nextCursor: null });
  });

  it("give the newest transactions, bounds included, even if the trading server's clock was set back", async () => {
    // The fourth event has an earlier time than the second.
    const name = await bookedAt([0, 20, 30, 10, 30].map((ms) => NOON_MS + ms));
    const sequences = async (query: string): Promise<number[]> =>
      (await history(name.accountNumber, query, name.serverId)).flatMap((record) =>
        record.kind === "transaction" ? [record.sequence] : [],
      );
    expect(await sequences("limit=1001")).toEqual([5, 3, 2, 4, 1]);
    expect(await sequences("limit=3")).toEqual([5, 3, 2]);
    expect(await sequences(`limit=9&from=${toIso(NOON_MS + 10)}&to=${toIso(NOON_MS + 20)}`)).toEqual([2, 4]);
    expect(await sequences(`limit=9&to=${toIso(NOON_MS)}`)).toEqual([1]);
    expect(await sequences(`limit=9&from=${toIso(NOON_MS + 31)}`)).toEqual([]);
  });

  it("return all records of the millisecond at which an export continues", async () => {
    const name = await bookedAt([0, 1, 1.25, 1.5, 2].map((ms) => NOON_MS + ms));
    const newest = await history(name.accountNumber, "limit=3", name.serverId);
    const last = newest.at(-1);
    if (last?.kind !== "transaction") throw new Error("expected a transaction");
    const rest = await history(name.accountNumber, `limit=9&to=${last.recordedAt}`, name.serverId);
    const sequences = [...newest, ...rest].flatMap((record) =>
      record.kind === "transaction" ? [record.sequence] : [],
    );
    expect(sequences).toEqual([5, 4, 3, 4, 3, 2, 1]);
  });

  it("reject malformed queries, unknown tokens, and tokens of services that the route does not allow", async () => {
    const path = pathOf(anyAccountNumber());
    for (const wrong of [
      "/transactions?page=0",
      "/transactions?limit=101",
      "/history",
      "/history?limit=1002",
      "/history?limit=5&from=now",
    ]) {
      expect(await harness.call("GET", path + wrong)).toMatchObject({ status: 400, errorCode: "VALIDATION_FAILED" });
    }
    expect(await harness.call("GET", `${harness.server.serverId}/accounts/a b/transactions`)).toMatchObject({
      status: 400,
    });
    expect(await harness.call("GET", `${path}/transactions`, "somebody else's token")).toMatchObject({ status: 401 });
    expect(await harness.call("DELETE", path, "somebody else's token")).toMatchObject({ status: 401 });
    const { gateway, account } = harness.environment.secrets.serviceTokens;
    expect(await harness.call("DELETE", path, gateway)).toMatchObject({ status: 401 });
    expect(await harness.call("GET", `${path}/transactions`, account)).toMatchObject({ status: 401 });
  });

  it("fail for an export while the trading server is unavailable, instead of showing an old ledger", async () => {
    const accountNumber = await harness.openAccount(100);
    await harness.fault({ kind: "unreachable", accountNumber, operation: "sequence", count: 1 });
    const unavailable = await harness.call("GET", pathOf(accountNumber, "/history?limit=5"));
    expect(unavailable).toMatchObject({ status: 500, errorCode: "DEPENDENCY_UNAVAILABLE" });
    expect(await history(accountNumber, "limit=5")).toHaveLength(1);
  });

  describe("after an account was deleted", () => {
    it("are 404 despite late events; the rows stay", async () => {
      const accountNumber = await harness.openAccount(100);
      await page(accountNumber);
      expect(await harness.call("DELETE", pathOf(accountNumber))).toMatchObject({ status: 200, body: {} });
      expect(await harness.call("DELETE", pathOf(accountNumber))).toMatchObject({ status: 200, body: {} });
      const [outcome] = await harness.client.change(harness.server.serverId, [
        { type: "balance", kind: "deposit", reference: randomUUID(), accountNumber, amountMinor: 5, description: null },
      ]);
      expect(outcome?.status).toBe("applied");
      await eventually(async () => (await harness.transactions(accountNumber)).length === 2);
      for (const read of ["/transactions", "/history?limit=5"]) {
        expect(await harness.call("GET", pathOf(accountNumber, read))).toMatchObject({
          status: 404,
          errorCode: "ACCOUNT_NOT_FOUND",
        });
      }
    });

    it("are 404 also if the account's first event comes after the deletion; the account's commands fail with ACCOUNT_NOT_FOUND", async () => {
      const accountNumber = anyAccountNumber();
      expect((await harness.call("DELETE", pathOf(accountNumber))).status).toBe(200);
      const deposit = command(accountNumber);
      await harness.publish(deposit);
      expect(await harness.final(deposit.commandId)).toMatchObject({ errorCode: "ACCOUNT_NOT_FOUND" });
      await harness.openAccount(100, accountNumber);
      await eventually(async () => (await harness.transactions(accountNumber)).length === 1);
      expect((await harness.call("GET", pathOf(accountNumber, "/transactions"))).status).toBe(404);
    });
  });
});

describe("a deposit and a withdrawal on an account", () => {
  async function setStatus(accountNumber: string, status: "disabled" | "archived" | "active"): Promise<void> {
    const [outcome] = await harness.client.change(harness.server.serverId, [
      { type: "set_status", reference: randomUUID(), accountNumber, status },
    ]);
    expect(outcome?.status).toBe("applied");
  }
  const both = (accountNumber: string): AnyCommandMessage[] => [
    command(accountNumber, { payload: { amount: 10 } }),
    command(accountNumber, { operation: "finance.withdraw", payload: { amount: 1 } }),
  ];

  it("that is disabled succeed", async () => {
    const accountNumber = await harness.openAccount(100);
    await setStatus(accountNumber, "disabled");
    const commands = both(accountNumber);
    await harness.publish(...commands);
    const finals = await Promise.all(commands.map(({ commandId }) => harness.final(commandId)));
    expect(finals.map(({ result }) => result)).toEqual([
      { transactionId: expect.any(String), balanceAfter: 11 },
      { transactionId: expect.any(String), balanceAfter: 10 },
    ]);
  });

  it("that is archived fail with ACCOUNT_ARCHIVED, and move nothing", async () => {
    const accountNumber = await harness.openAccount(100);
    await setStatus(accountNumber, "archived");
    const commands = both(accountNumber);
    await harness.publish(...commands);
    for (const { commandId } of commands) {
      expect(await harness.final(commandId)).toMatchObject({ status: "failed", errorCode: "ACCOUNT_ARCHIVED" });
    }
    expect((await page(accountNumber)).pagination.total).toBe(1);
  });

  it("that is pending fail with ACCOUNT_NOT_READY; after the account is open, a deposit succeeds", async () => {
    const accountNumber = anyAccountNumber();
    const early = both(accountNumber);
    await harness.publish(...early);
    for (const { commandId } of early) {
      expect(await harness.final(commandId)).toMatchObject({ status: "failed", errorCode: "ACCOUNT_NOT_READY" });
    }
    await harness.openAccount(0, accountNumber);
    const [deposit] = both(accountNumber);
    if (deposit === undefined) throw new Error("no command");
    await harness.publish(deposit);
    expect(await harness.final(deposit.commandId)).toMatchObject({ result: { balanceAfter: 10 } });
  });

  it("with open positions: at most the free margin can be withdrawn, to the cent", async () => {
    const accountNumber = await harness.openAccount(1_000_000);
    const at = `/servers/${harness.server.serverId}/accounts/${accountNumber}`;
    await harness.tradingServer.control("POST", `${at}/orders`, { symbol: "EURUSD", side: "buy", volume: 1 });
    const snapshot = await harness.client.snapshot(harness.server.serverId, accountNumber);
    const available = Math.min(snapshot?.balanceMinor ?? 0, snapshot?.freeMarginMinor ?? 0);
    expect(available).toBeGreaterThan(0);
    expect(available).toBeLessThan(snapshot?.balanceMinor ?? 0);
    const withdraw = (minor: number): AnyCommandMessage =>
      command(accountNumber, { operation: "finance.withdraw", payload: { amount: minor / 100 } });
    const [tooMuch, all, more] = [withdraw(available + 1), withdraw(available), withdraw(1)];
    await harness.publish(tooMuch, all, more);
    expect(await harness.final(tooMuch.commandId)).toMatchObject({ errorCode: "INSUFFICIENT_FUNDS" });
    expect(await harness.final(all.commandId)).toMatchObject({ status: "succeeded" });
    expect(await harness.final(more.commandId)).toMatchObject({ errorCode: "INSUFFICIENT_FUNDS" });
  });
});
