import { randomUUID } from "node:crypto";

import { createNoopMeter, metrics } from "@opentelemetry/api";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import type { AnyCommandMessage } from "@kapi/contracts";
import { statement } from "@kapi/postgres";
import { accountCreated, anyAccountNumber, balanceChanged, commandMessage, eventually } from "@kapi/testkit";

import { Harness, type LogEntry } from "./harness.ts";
import { type HistoryServer, startHistoryServer } from "./history-server.ts";

const GAUGE = "finance.reconciliation.accounts";

/**
 * Sum and number of the entries, by currency. An account's ledger has the account's currency. The
 * name of a counter ledger, `organization/<id>/<currency>/<type>`, contains its currency.
 */
const TOTALS = statement<{ currency: string; total: string; entries: number }>(
  "test_totals",
  `select currency, sum(amount_minor) as total, count(*)::integer as entries
   from (
     select e.amount_minor, coalesce(a.currency, split_part(e.ledger, '/', 3)) as currency
     from entries e
     left join ledger_accounts a on e.ledger = 'account/' || a.server_id || '/' || a.account_number
   ) e
   group by currency`,
);
/**
 * Accounts whose balance differs from the sum of their transactions, from the sum of their entries,
 * or from the balance after their last transaction; or whose `transaction_sequence` is not the
 * number of their transactions.
 */
const WRONG_BALANCES = statement<{ account_number: string }>(
  "test_wrong_balances",
  `select a.account_number from ledger_accounts a
   left join lateral (
     select coalesce(sum(t.amount_minor), 0) as rows, count(*) as count,
       coalesce((array_agg(t.balance_after_minor order by t.sequence desc))[1], 0) as last
     from transactions t where t.server_id = a.server_id and t.account_number = a.account_number
   ) t on true
   left join lateral (
     select coalesce(sum(e.amount_minor), 0) as entries from entries e
     where e.ledger = 'account/' || a.server_id || '/' || a.account_number
   ) e on true
   where (a.balance_minor, a.balance_minor, a.balance_minor, a.transaction_sequence) <> (t.rows, e.entries, t.last, t.count)`,
);

describe("the ledger", () => {
  let harness: Harness;
  const measured = new Map<string, number>();
  const stops: (() => Promise<void>)[] = [];
  beforeAll(async () => {
    // Replaces the meter of the OpenTelemetry SDK.
    const meter = createNoopMeter();
    meter.createGauge = (name) => ({
      record: (value, attributes) => measured.set(`${name} ${String(attributes?.["finding"])}`, value),
    });
    metrics.setGlobalMeterProvider({ getMeter: () => meter });
    harness = await Harness.create();
  });
  afterAll(async () => {
    await Promise.all(stops.map((stop) => stop()));
    await harness.stop();
    metrics.disable();
  });

  function command(accountNumber: string, overrides: Partial<AnyCommandMessage> = {}): AnyCommandMessage {
    const { serverId, organizationId } = harness.server;
    return commandMessage({ serverId, organizationId, accountNumber, ...overrides });
  }

  async function expectBalancedBooks(): Promise<void> {
    for (const { currency, total } of await harness.database.query(TOTALS, []))
      expect([currency, total]).toEqual([currency, "0"]);
    expect(await harness.database.query(WRONG_BALANCES, [])).toEqual([]);
    expect(await harness.unbalanced()).toEqual([]);
  }

  it("always sums to zero over all its entries, and the balance of each account is the sum of the account's entries", async () => {
    const { serverId } = harness.server;
    const numbers = await Promise.all(Array.from({ length: 8 }, () => harness.openAccount(500_000)));
    const commands = numbers.flatMap((accountNumber) =>
      Array.from({ length: 20 }, (_, index) =>
        command(accountNumber, {
          operation: index % 3 === 2 ? "finance.withdraw" : "finance.deposit",
          payload: { amount: (index + 1) / 100 + index },
        }),
      ),
    );
    await harness.publish(...commands);
    for (const accountNumber of numbers) {
      const at = `/servers/${serverId}/accounts/${accountNumber}`;
      const placed = await harness.tradingServer.control("POST", `${at}/orders`, {
        symbol: "EURUSD",
        side: "buy",
        volume: 0.3,
      });
      await expectBalancedBooks();
      const { positionId } = placed as { positionId: string };
      await harness.tradingServer.control("POST", `${at}/positions/${positionId}/close`, { volume: 0.1 });
      await harness.tradingServer.control("POST", `${at}/positions/${positionId}/close`, {});
    }
    for (const { commandId } of commands) {
      expect((await harness.final(commandId)).status).toBe("succeeded");
    }
    for (const accountNumber of numbers) {
      const balance = await harness.balanceMinor(accountNumber);
      await eventually(async () => (await harness.transactions(accountNumber)).at(-1)?.balance_after_minor === balance);
    }
    await expectBalancedBooks();
    const totals = await harness.database.query(TOTALS, []);
    expect(totals.find(({ currency }) => currency === "USD")?.entries).toBeGreaterThan(2 * commands.length);
  });

  it("sums to zero in each currency separately", async () => {
    const standIn = await startHistoryServer();
    stops.push(() => standIn.stop());
    const name = { serverId: randomUUID(), accountNumber: anyAccountNumber() };
    await harness.publishServer({ ...harness.server, serverId: name.serverId, tradingServerUrl: standIn.url });
    const first = accountCreated({ ...name, sequence: 1, currency: "NGN", initialBalanceMinor: 900 });
    standIn.answer([first]);
    await harness.publishEvent(first);
    await eventually(async () => (await harness.transactions(name.accountNumber, name.serverId)).length === 1);
    const totals = await harness.database.query(TOTALS, []);
    expect(totals.find(({ currency }) => currency === "NGN")).toMatchObject({ total: "0" });
    await expectBalancedBooks();
  });

  it("books a balance below zero, after which deposits succeed and withdrawals fail", async () => {
    const accountNumber = await harness.openAccount(200_000);
    const { serverId } = harness.server;
    const at = `/servers/${serverId}/accounts/${accountNumber}`;
    await harness.tradingServer.control("POST", `${at}/orders`, { symbol: "GBPUSD", side: "buy", volume: 1 });
    await harness.tradingServer.control("POST", `/servers/${serverId}/prices/GBPUSD/move`, { percent: -5 });
    const balance = await harness.balanceMinor(accountNumber);
    expect(balance).toBeLessThan(0);
    const rows = await eventually(async () => {
      const booked = await harness.transactions(accountNumber);
      return booked.at(-1)?.balance_after_minor === balance && booked;
    });
    expect(rows.map(({ type }) => type)).toContain("realized_pnl");
    const withdrawal = command(accountNumber, { operation: "finance.withdraw", payload: { amount: 0.01 } });
    const deposit = command(accountNumber, { payload: { amount: 1 } });
    await harness.publish(withdrawal, deposit);
    expect(await harness.final(withdrawal.commandId)).toMatchObject({ errorCode: "INSUFFICIENT_FUNDS" });
    expect(await harness.final(deposit.commandId)).toMatchObject({ result: { balanceAfter: (balance + 100) / 100 } });
    await expectBalancedBooks();
  });

  it("books an adjustment made by the trading server", async () => {
    const { name } = await standInAccount([-40]);
    const rows = await harness.transactions(name.accountNumber, name.serverId);
    expect(rows.map(({ type, amount_minor: amount, command_id: by }) => [type, amount, by])).toEqual([
      ["initial_balance", 1_000, null],
      ["adjustment", -40, null],
    ]);
  });

  /**
   * An account on a stand-in for a trading server. Its initial balance of 10.00 and the adjustments
   * are booked.
   */
  async function standInAccount(adjustments: readonly number[] = []) {
    const standIn: HistoryServer = await startHistoryServer();
    stops.push(() => standIn.stop());
    const name = { serverId: randomUUID(), accountNumber: anyAccountNumber() };
    await harness.publishServer({ ...harness.server, serverId: name.serverId, tradingServerUrl: standIn.url });
    let balanceMinor = 1_000;
    const events = [
      accountCreated({ ...name, sequence: 1, initialBalanceMinor: balanceMinor }),
      ...adjustments.map((amountMinor, index) => {
        balanceMinor += amountMinor;
        return balanceChanged({ ...name, sequence: index + 2, kind: "adjustment", amountMinor, balanceMinor });
      }),
    ];
    standIn.answer(events);
    for (const event of events) await harness.publishEvent(event);
    await eventually(
      async () => (await harness.transactions(name.accountNumber, name.serverId)).length === events.length,
    );
    return { name, standIn, events };
  }

  describe("and its reconciliation with the trading servers:", () => {
    const reported = (accountNumber: string): LogEntry[] =>
      harness.log.filter((entry) => entry["accountNumber"] === accountNumber && "finding" in entry);
    const passes = (): number => harness.log.filter(({ msg }) => msg === "reconciliation: a pass ended").length;
    async function nextPass(): Promise<void> {
      const before = passes();
      // The pass that runs now has perhaps read the account already, so two passes have to end.
      await eventually(() => passes() >= before + 2, { timeoutMs: 30_000 });
    }

    it("a difference is reported by log and metric while it lasts, and is not corrected", async () => {
      const { name, standIn, events } = await standInAccount();
      await nextPass();
      expect(reported(name.accountNumber)).toEqual([]);
      expect(measured.get(`${GAUGE} differs`)).toBe(0);

      standIn.answer(events, 1_001);
      const [line] = await eventually(() => reported(name.accountNumber).length > 0 && reported(name.accountNumber), {
        timeoutMs: 30_000,
      });
      expect(line).toMatchObject({
        level: "error",
        ...name,
        finding: "differs",
        ledgerBalanceMinor: 1_000,
        serverBalanceMinor: 1_001,
        sequence: 1,
      });
      await eventually(() => measured.get(`${GAUGE} differs`) === 1);
      expect(await harness.transactions(name.accountNumber, name.serverId)).toHaveLength(1);

      standIn.answer(events);
      await eventually(() => measured.get(`${GAUGE} differs`) === 0, { timeoutMs: 30_000 });
    });

    it("an account is compared only after its events are booked up to the server's sequence", async () => {
      const { name, standIn, events } = await standInAccount();
      const next = balanceChanged({ ...name, sequence: 2, amountMinor: 7, balanceMinor: 1_007 });
      standIn.answer([...events, next]);
      await eventually(() => measured.get(`${GAUGE} behind`) === 1, { timeoutMs: 30_000 });
      expect(reported(name.accountNumber)).toEqual([]);
      await harness.publishEvent(next);
      await eventually(() => measured.get(`${GAUGE} behind`) === 0, { timeoutMs: 30_000 });
      expect(reported(name.accountNumber)).toEqual([]);
    });

    it("an account that keeps trading is compared at the sequence of its snapshot", async () => {
      const { name, standIn, events } = await standInAccount();
      // From here on, the ledger is ahead of the stand-in.
      await harness.publishEvent(balanceChanged({ ...name, sequence: 2, amountMinor: 7, balanceMinor: 1_007 }));
      await eventually(async () => (await harness.transactions(name.accountNumber, name.serverId)).length === 2);
      await nextPass();
      expect(reported(name.accountNumber)).toEqual([]);
      standIn.answer(events, 999);
      await eventually(() => reported(name.accountNumber).length > 0, { timeoutMs: 30_000 });
      expect(reported(name.accountNumber)[0]).toMatchObject({
        ledgerBalanceMinor: 1_000,
        serverBalanceMinor: 999,
        sequence: 1,
      });
      standIn.answer(events);
    });

    it("money on an account that the trading server does not know is reported, unless the account was deleted", async () => {
      const { name, standIn, events } = await standInAccount();
      standIn.forget();
      await eventually(() => reported(name.accountNumber).length > 0, { timeoutMs: 30_000 });
      expect(reported(name.accountNumber)[0]).toMatchObject({
        finding: "missing",
        ledgerBalanceMinor: 1_000,
        serverBalanceMinor: null,
      });
      await harness.call("DELETE", `${name.serverId}/accounts/${name.accountNumber}`);
      await eventually(() => measured.get(`${GAUGE} missing`) === 0, { timeoutMs: 30_000 });
      standIn.answer(events);
    });

    it("an account of an unavailable trading server counts as unreachable, and other accounts are still compared", async () => {
      const { name, standIn } = await standInAccount();
      await standIn.stop();
      await eventually(() => measured.get(`${GAUGE} unreachable`) === 1, { timeoutMs: 30_000 });
      const other = await standInAccount();
      other.standIn.answer(other.events, 1);
      await eventually(() => reported(other.name.accountNumber).length > 0, { timeoutMs: 30_000 });
      expect(reported(name.accountNumber)).toEqual([]);
      other.standIn.answer(other.events);
    });
  });
});
