import { randomUUID } from "node:crypto";

import { afterAll, beforeAll, describe, expect, it } from "vitest";

import type { AnyCommandMessage } from "@kapi/contracts";
import { toIso } from "@kapi/kernel";
import { accountCreated, anyAccountNumber, balanceChanged, commandMessage, eventually } from "@kapi/testkit";

import { Harness } from "./harness.ts";
import { startHistoryServer } from "./history-server.ts";

describe("finance", () => {
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

  it("books deposits and withdrawals to the cent, in order, with entries that sum to zero", async () => {
    const accountNumber = await harness.openAccount(5_000);
    const deposit = command(accountNumber, { payload: { amount: 100.25, description: "first" }, requestId: "r-1" });
    const withdrawal = command(accountNumber, { operation: "finance.withdraw", payload: { amount: 0.75 } });
    await harness.publish(deposit, withdrawal);
    const first = await harness.final(deposit.commandId);
    const second = await harness.final(withdrawal.commandId);
    expect(first).toMatchObject({ status: "succeeded", attempts: 1, result: { balanceAfter: 150.25 } });
    expect(second).toMatchObject({ status: "succeeded", result: { balanceAfter: 149.5 } });
    const rows = await harness.transactions(accountNumber);
    expect(rows.map(({ sequence, type, amount_minor: amount }) => [sequence, type, amount])).toEqual([
      [1, "initial_balance", 5_000],
      [2, "deposit", 10_025],
      [3, "withdrawal", -75],
    ]);
    expect(rows[1]).toMatchObject({ command_id: deposit.commandId, request_id: "r-1" });
    expect(await harness.balanceMinor(accountNumber)).toBe(14_950);
    expect(await harness.unbalanced()).toEqual([]);
    const financeEvents = await eventually(() => {
      const own = harness.financeEvents.filter((event) => event.accountNumber === accountNumber);
      return own.length >= 3 && own;
    });
    expect(
      financeEvents.map(({ transaction }) => [transaction.sequence, transaction.amount, transaction.balanceAfter]),
    ).toEqual([
      [1, 50, 50],
      [2, 100.25, 150.25],
      [3, -0.75, 149.5],
    ]);
    expect(financeEvents[1]?.transaction.id).toBe(first.result?.["transactionId"]);
  });

  it("moves money once for repeated messages", async () => {
    const accountNumber = await harness.openAccount();
    const deposit = command(accountNumber);
    await harness.publish(deposit, deposit);
    await harness.final(deposit.commandId);
    await harness.publish(deposit);
    const last = command(accountNumber);
    await harness.publish(last);
    await harness.final(last.commandId);
    expect(await harness.balanceMinor(accountNumber)).toBe(20_000);
    expect(await harness.transactions(accountNumber)).toHaveLength(2);
  });

  it("moves money once if the response is lost after applying", async () => {
    const accountNumber = await harness.openAccount();
    await harness.fault({ kind: "drop_answer", accountNumber, operation: "deposit", count: 1 });
    const deposit = command(accountNumber);
    await harness.publish(deposit);
    expect(await harness.final(deposit.commandId)).toMatchObject({
      status: "succeeded",
      result: { balanceAfter: 100 },
    });
    expect(await harness.balanceMinor(accountNumber)).toBe(10_000);
    expect(await harness.transactions(accountNumber)).toHaveLength(1);
  });

  it("waits for a change that applies late, and moves money once", async () => {
    const accountNumber = await harness.openAccount();
    await harness.fault({ kind: "apply_late", accountNumber, operation: "deposit", count: 1, delayMs: 3_000 });
    const deposit = command(accountNumber, { deadlineAt: toIso(Date.now() + 60_000) });
    await harness.publish(deposit);
    const final = await harness.final(deposit.commandId, 30_000);
    expect(final.status).toBe("succeeded");
    const settled = command(accountNumber);
    await harness.publish(settled);
    await harness.final(settled.commandId);
    expect(await harness.balanceMinor(accountNumber)).toBe(20_000);
    expect((await harness.transactions(accountNumber)).map(({ type }) => type)).toEqual(["deposit", "deposit"]);
  });

  it("expires a deposit that was not applied, and releases its credits", async () => {
    const accountNumber = await harness.openAccount();
    await harness.fault({ kind: "unreachable", accountNumber, operation: "deposit", count: 2 });
    const deposit = command(accountNumber, { deadlineAt: toIso(Date.now() + 500) });
    await harness.publish(deposit);
    expect(await harness.final(deposit.commandId)).toMatchObject({
      status: "expired",
      settlement: { action: "release", credits: 5 },
    });
    const [outcome] = await harness.client.settle(harness.server.serverId, [deposit.commandId]);
    expect(outcome?.status).toBe("closed");
    expect(await harness.balanceMinor(accountNumber)).toBe(0);
  });

  it("fails a rejected command with the trading server's reason, or ACCOUNT_NOT_READY before the account is open", async () => {
    const accountNumber = await harness.openAccount(100);
    const tooMuch = command(accountNumber, { operation: "finance.withdraw", payload: { amount: 2 } });
    const nobody = command(anyAccountNumber());
    await harness.publish(tooMuch, nobody);
    expect(await harness.final(tooMuch.commandId)).toMatchObject({
      status: "failed",
      errorCode: "INSUFFICIENT_FUNDS",
      settlement: { action: "consume" },
    });
    expect(await harness.final(nobody.commandId)).toMatchObject({ status: "failed", errorCode: "ACCOUNT_NOT_READY" });
    const gone = await harness.openAccount();
    const last = command(gone);
    await harness.publish(last);
    await harness.final(last.commandId);
    await harness.client.change(harness.server.serverId, [
      { type: "delete", reference: randomUUID(), accountNumber: gone },
    ]);
    const late = command(gone);
    await harness.publish(late);
    expect(await harness.final(late.commandId)).toMatchObject({ status: "failed", errorCode: "ACCOUNT_NOT_FOUND" });
  });

  it("fails a malformed command and a command of a disabled server, and moves no money", async () => {
    const accountNumber = await harness.openAccount();
    const absurd = command(accountNumber, { payload: { amount: "a lot" } });
    await harness.publish(absurd);
    expect(await harness.final(absurd.commandId)).toMatchObject({ status: "failed", errorCode: "INTERNAL" });
    const disabled = { ...harness.server, serverId: randomUUID(), status: "disabled" as const };
    await harness.publishServer(disabled);
    const elsewhere = command(accountNumber, { serverId: disabled.serverId });
    await harness.publish(elsewhere);
    expect(await harness.final(elsewhere.commandId)).toMatchObject({ status: "failed", errorCode: "SERVER_DISABLED" });
    expect(await harness.balanceMinor(accountNumber)).toBe(0);
  });

  it("books the profit of a deal as a separate transaction, and ends with the balance of the trading server", async () => {
    const accountNumber = await harness.openAccount(1_000_000);
    const at = `/servers/${harness.server.serverId}/accounts/${accountNumber}`;
    const placed = await harness.tradingServer.control("POST", `${at}/orders`, {
      symbol: "EURUSD",
      side: "buy",
      volume: 1,
    });
    const { positionId } = placed as { positionId: string };
    await harness.tradingServer.control("POST", `/servers/${harness.server.serverId}/prices/EURUSD/move`, {
      points: 150,
    });
    await harness.tradingServer.control("POST", `${at}/positions/${positionId}/close`, {});
    const balance = await harness.balanceMinor(accountNumber);
    const rows = await eventually(async () => {
      const booked = await harness.transactions(accountNumber);
      return booked.at(-1)?.balance_after_minor === balance && booked.length > 1 && booked;
    });
    expect(rows.map(({ sequence }) => sequence)).toEqual(rows.map((_, index) => index + 1));
    expect(rows.map(({ type }) => type)).toContain("realized_pnl");
    expect(await harness.unbalanced()).toEqual([]);
  });

  it("fetches missing events before it books a later event, and completes the command", async () => {
    const accountNumber = await harness.openAccount(1_000_000);
    // An order makes events. The answer to the deposit can arrive before the topic delivers them.
    const at = `/servers/${harness.server.serverId}/accounts/${accountNumber}`;
    const order = { symbol: "EURUSD", side: "buy", volume: 0.1 };
    for (let round = 0; round < 5; round += 1) {
      await harness.tradingServer.control("POST", `${at}/orders`, order);
      const deposit = command(accountNumber, { payload: { amount: 1 } });
      await harness.publish(deposit);
      expect(await harness.final(deposit.commandId)).toMatchObject({ status: "succeeded" });
    }
    const rows = await harness.transactions(accountNumber);
    expect(rows.filter(({ type }) => type === "deposit")).toHaveLength(5);
    expect(rows.map(({ sequence }) => sequence)).toEqual(rows.map((_, index) => index + 1));
    expect(rows.at(-1)?.balance_after_minor).toBe(await harness.balanceMinor(accountNumber));
  });

  it("books nothing after a gap until it is filled, and delays no other account", async () => {
    const history = await startHistoryServer();
    const serverId = randomUUID();
    await harness.publishServer({ ...harness.server, serverId, tradingServerUrl: history.url });
    const accountNumber = anyAccountNumber();
    const name = { serverId, accountNumber };
    const events = [
      accountCreated({ ...name, sequence: 1, initialBalanceMinor: 500 }),
      balanceChanged({ ...name, sequence: 2, amountMinor: 100, balanceMinor: 600 }),
      balanceChanged({ ...name, sequence: 3, kind: "withdrawal", amountMinor: -50, balanceMinor: 550 }),
    ];
    await harness.publishEvent(events[2]);
    await eventually(() => history.asked > 0);
    const elsewhere = command(await harness.openAccount());
    await harness.publish(elsewhere);
    expect(await harness.final(elsewhere.commandId)).toMatchObject({ status: "succeeded" });
    expect(await harness.transactions(accountNumber, serverId)).toEqual([]);
    expect(await harness.gaps(serverId)).toEqual([{ account_number: accountNumber, needed_sequence: 3 }]);

    history.answer(events);
    const rows = await eventually(async () => {
      const booked = await harness.transactions(accountNumber, serverId);
      return booked.length === 3 && booked;
    });
    expect(rows.map(({ type, balance_after_minor: balance }) => [type, balance])).toEqual([
      ["initial_balance", 500],
      ["deposit", 600],
      ["withdrawal", 550],
    ]);
    await eventually(async () => (await harness.gaps(serverId)).length === 0);
    await harness.publishEvent(events[0]);
    await harness.publishEvent(events[2]);
    const next = balanceChanged({ ...name, sequence: 4, amountMinor: 1, balanceMinor: 551 });
    await harness.publishEvent(next);
    await eventually(async () => (await harness.transactions(accountNumber, serverId)).length === 4);
    await history.stop();
  });

  it("books events from its downtime in order, and runs the commands of that time", async () => {
    const accountNumber = await harness.openAccount(1_000);
    const before = command(accountNumber);
    await harness.publish(before);
    await harness.final(before.commandId);
    await harness.stopService();
    const [outcome] = await harness.client.change(harness.server.serverId, [
      {
        type: "balance",
        kind: "deposit",
        reference: randomUUID(),
        accountNumber,
        amountMinor: 333,
        description: "by another hand",
      },
    ]);
    expect(outcome?.status).toBe("applied");
    const meanwhile = Array.from({ length: 20 }, () => command(accountNumber, { payload: { amount: 1 } }));
    await harness.publish(...meanwhile);
    await harness.startService();
    for (const { commandId } of meanwhile) expect((await harness.final(commandId)).status).toBe("succeeded");
    const rows = await harness.transactions(accountNumber);
    expect(rows.map(({ sequence }) => sequence)).toEqual(rows.map((_, index) => index + 1));
    expect(rows.at(-1)?.balance_after_minor).toBe(13_333);
    expect(await harness.balanceMinor(accountNumber)).toBe(13_333);
  });
});
