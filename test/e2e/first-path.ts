/**
 * The first path: the tasks that a new user tries after `npm start`, from an external client. The
 * tests run on simulated prices from a fixed seed and on recorded quotes, because the guarantees
 * must not depend on the prices.
 */
import { randomUUID } from "node:crypto";
import { expect, it } from "vitest";

import { type LedgerView, readLedger } from "./ledger-view.ts";
import { type Demo, type ErrorAnswer, type LiveMessage, OutsideClient, pause } from "./outside-client.ts";
import { TradingControl } from "./trading-control.ts";

/** The system under test. */
export interface FirstPathTarget {
  readonly demo: () => Demo;
  readonly postgresUrl: () => string;
}

interface WalletAnswer {
  readonly wallet: {
    readonly availableCredits: number;
    readonly reservedCredits: number;
    readonly lifetimeConsumed: number;
  };
}

const EQUITY_DEADLINE_MS = 30_000;

/** Registers the tests of the first path for `target`. */
export function describeFirstPath(target: FirstPathTarget): void {
  accountTests(target);
  moneyTests(target);
  liveTests(target);
  creditTests(target);
}

function accountTests(target: FirstPathTarget): void {
  it("an account is created once: 202 with both passwords; the repeated request gets 200 without them", async () => {
    const client = new OutsideClient(target.demo());
    const key = randomUUID();
    const body = { accountName: "First path", initialBalance: 2500.5, leverage: 100, requestId: "first-path" };
    const created = await client.createAccount(body, key);
    expect(created.status).toBe(202);
    expect(created.body).toMatchObject({
      duplicate: false,
      command: { operation: "account.create", status: "queued" },
    });
    expect(created.body.credentials?.tradingPassword).toMatch(/^.{8,128}$/);
    expect(created.body.credentials?.investorPassword).not.toBe(created.body.credentials?.tradingPassword);

    const again = await client.createAccount(body, key);
    expect(again.status).toBe(200);
    expect(again.headers.get("idempotent-replayed")).toBe("true");
    expect(again.body).toMatchObject({ duplicate: true, command: { id: created.body.command.id } });
    expect(again.body.credentials).toBeUndefined();

    const command = await client.finished(created.body.command.id);
    expect(command).toMatchObject({ status: "succeeded", attempts: 1, errorCode: null });
    const accountNumber = String(command.result?.["accountNumber"]);
    expect(await client.account(accountNumber)).toMatchObject({
      id: command.managedAccountId,
      status: "active",
      accountName: "First path",
      balance: 2500.5,
      equity: 2500.5,
    });
    const list = await client.call<{ accounts: { accountNumber: string }[] }>("GET", client.server("/accounts"));
    expect(list.body.accounts.filter((account) => account.accountNumber === accountNumber)).toHaveLength(1);
    expect(list.body.accounts[0]?.accountNumber).toBe(accountNumber);
  });

  it("a read returns the configuration of the server", async () => {
    const client = new OutsideClient(target.demo());
    const { status, body } = await client.call<{ server: object }>("GET", client.server("/configuration"));
    expect(status).toBe(200);
    expect(body.server).toMatchObject({
      serverId: client.demo.serverId,
      currency: "USD",
      currencySymbol: "$",
      environment: "demo",
      status: "active",
      supportedLeverage: [1, 2, 5, 10, 20, 25, 30, 50, 100, 200, 300, 400, 500, 1000, 2000, 5000, 10000],
    });
  });
}

function moneyTests(target: FirstPathTarget): void {
  it("deposits and withdrawals move the money, and trading server and ledger agree to the cent", async () => {
    const client = new OutsideClient(target.demo());
    const account = await client.openAccount(100);
    const run = async (envelope: ReturnType<typeof client.deposit>): Promise<unknown> => {
      const { status, body } = await envelope;
      expect(status).toBe(202);
      const { status: end, result, errorCode } = await client.finished(body.command.id);
      return { end, balanceAfter: result?.["balanceAfter"], errorCode };
    };
    const money = { requestId: "first-path" };
    expect(await run(client.deposit(account, { ...money, amount: 0.1 }))).toMatchObject({ balanceAfter: 100.1 });
    expect(await run(client.deposit(account, { ...money, amount: 0.2 }))).toMatchObject({ balanceAfter: 100.3 });
    expect(await run(client.withdraw(account, { ...money, amount: 50.15 }))).toMatchObject({ balanceAfter: 50.15 });
    expect(await run(client.withdraw(account, { ...money, amount: 1000 }))).toMatchObject({
      end: "failed",
      errorCode: "INSUFFICIENT_FUNDS",
    });
    const ledger = await readLedger(target.postgresUrl(), client.demo.serverId, account);
    expect(ledger.map(({ type, amountMinor, sequence }) => [sequence, type, amountMinor])).toEqual([
      [1, "initial_balance", 10_000],
      [2, "deposit", 10],
      [3, "deposit", 20],
      [4, "withdrawal", -5_015],
    ]);
    const { balanceMinor } = await new TradingControl(client.demo).account(account);
    expect(balanceMinor).toBe(5_015);
    expect(sumOf(ledger)).toBe(balanceMinor);
    expect((await client.account(account)).balance).toBe(50.15);
  });

  it("equity follows the market while a position is open, and the result of the closed position reaches the ledger", async () => {
    const client = new OutsideClient(target.demo());
    const control = new TradingControl(client.demo);
    const account = await client.openAccount(10_000);
    const positionId = await control.buy(account, "EURUSD", 0.5);
    expect(await client.account(account)).toMatchObject({ openPositionCount: 1 });
    const equities = new Set<number>();
    const deadline = Date.now() + EQUITY_DEADLINE_MS;
    while (equities.size < 3) {
      if (Date.now() > deadline) throw new Error(`the equity does not move: ${[...equities].join(" ")}`);
      equities.add((await client.account(account)).equity);
      await pause(50);
    }
    await control.close(account, positionId);
    const { balanceMinor } = await control.account(account);
    let ledger = await readLedger(target.postgresUrl(), client.demo.serverId, account);
    // Without profit or loss, a closing deal has no `realized_pnl` transaction. So the test waits
    // for equal sums, not for a transaction.
    while (sumOf(ledger) !== balanceMinor) {
      if (Date.now() > deadline) throw new Error(`ledger ${sumOf(ledger)}, trading server ${balanceMinor}`);
      await pause(50);
      ledger = await readLedger(target.postgresUrl(), client.demo.serverId, account);
    }
    expect(ledger.map((row) => row.sequence)).toEqual(ledger.map((_, index) => index + 1));
  });

  it("ledger and trading server agree for an account that trades automatically", async () => {
    const client = new OutsideClient(target.demo());
    const control = new TradingControl(client.demo);
    const account = await client.openAccount(50_000);
    await control.autoTrade(account);
    const deadline = Date.now() + EQUITY_DEADLINE_MS;
    for (;;) {
      const before = await control.account(account);
      const ledger = await readLedger(target.postgresUrl(), client.demo.serverId, account);
      const after = await control.account(account);
      // The sums are comparable only if the trading server booked nothing meanwhile.
      if (before.sequence === after.sequence && sumOf(ledger) === before.balanceMinor && ledger.length > 5) break;
      if (Date.now() > deadline) throw new Error(`ledger ${sumOf(ledger)}, trading server ${before.balanceMinor}`);
      await pause(50);
    }
  });
}

function liveTests(target: FirstPathTarget): void {
  it("live samples are consecutive while the market moves, and a reconnect replays the samples after `afterSequence`", async () => {
    const client = new OutsideClient(target.demo());
    const { serverId } = client.demo;
    const accountNumber = await client.openAccount(10_000);
    await new TradingControl(client.demo).buy(accountNumber, "EURUSD", 1);

    const first = await client.live();
    expect(await first.next()).toMatchObject({
      type: "connected",
      sessionId: expect.stringMatching(/^[0-9a-f-]{36}$/),
    });
    first.send("ping");
    expect(await first.nextText()).toBe("pong");
    first.send({ type: "subscribe", serverId, accountNumber });
    const seen = await first.samples(5);
    expectConsecutive(seen);
    // The first sample is the newest one of the window, which may be older than the order.
    expect(seen.at(-1)).toMatchObject({ serverId, accountNumber, openPositionCount: 1 });
    first.close();

    const processed = Number(seen[2]?.["sequence"]);
    const second = await client.live();
    expect((await second.next()).type).toBe("connected");
    second.send({ type: "subscribe", serverId, accountNumber, afterSequence: processed });
    expect(await second.next()).toMatchObject({
      type: "account.metrics.replay",
      serverId,
      accountNumber,
      replayTruncated: false,
    });
    const replayed = await second.samples(5);
    expectConsecutive(replayed);
    expect(replayed.slice(0, 2)).toEqual(seen.slice(3));
    second.close();
  });
}

function creditTests(target: FirstPathTarget): void {
  it("every call lowers the available credits by its price, and available, reserved and consumed credits add up to the purchased credits", async () => {
    const client = new OutsideClient(target.demo());
    const wallet = async (): Promise<WalletAnswer["wallet"] & { lifetimePurchased: number }> => {
      const answer = await client.call<{ wallet: WalletAnswer["wallet"] & { lifetimePurchased: number } }>(
        "GET",
        "/credits/balance",
      );
      expect(answer.status).toBe(200);
      expect(answer.headers.get("x-credits-charged")).toBe("1");
      expect(answer.headers.get("x-credits-remaining")).toBe(String(answer.body.wallet.availableCredits));
      const { availableCredits, reservedCredits, lifetimeConsumed, lifetimePurchased } = answer.body.wallet;
      expect(availableCredits + reservedCredits + lifetimeConsumed).toBe(lifetimePurchased);
      return answer.body.wallet;
    };
    const before = await wallet();
    expect((await wallet()).availableCredits).toBe(before.availableCredits - 1);
    const created = await client.createAccount({
      accountName: "Priced",
      initialBalance: 0,
      leverage: 1,
      requestId: "p",
    });
    expect(created.headers.get("x-credits-charged")).toBe("10");
    expect((await wallet()).availableCredits).toBe(before.availableCredits - 12);
  });

  it("wrong requests get the errors of the interface; with a wrong key the error is 401, even if the body is invalid too", async () => {
    const client = new OutsideClient(target.demo());
    const accounts = client.server("/accounts");
    const expectError = (answer: { status: number; body: ErrorAnswer }, status: number, error: string): void => {
      expect({ status: answer.status, error: answer.body.error }).toEqual({ status, error });
    };
    for (const authorization of [null, "Management kapi.wrong.key", `Bearer ${client.demo.managementKey}`]) {
      const answer = await client.call<ErrorAnswer>("POST", accounts, { authorization, body: { nonsense: true } });
      expectError(answer, 401, "Management API authentication required");
    }
    const stranger = randomUUID();
    const foreign = await client.call<ErrorAnswer>("GET", `/servers/${stranger}/accounts`);
    expectError(foreign, 403, `Missing server access: ${stranger}`);
    const invalid = await client.call<ErrorAnswer>("POST", accounts, {
      idempotencyKey: randomUUID(),
      body: { accountName: "", initialBalance: -1, leverage: "100" },
    });
    expect(invalid.status).toBe(400);
    expect(invalid.body.issues?.map((issue) => issue.path.join(".")).toSorted()).toEqual([
      "accountName",
      "initialBalance",
      "leverage",
      "requestId",
    ]);
    const unknown = await client.deposit("99999999", { amount: 1, requestId: "r" });
    expect(unknown.status).toBe(404);
  });
}

function expectConsecutive(samples: readonly LiveMessage[]): void {
  const sequences = samples.map((sample) => Number(sample["sequence"]));
  expect(sequences).toEqual(sequences.map((_, index) => (sequences[0] ?? 0) + index));
}

function sumOf(ledger: readonly LedgerView[]): number {
  return ledger.reduce((sum, row) => sum + row.amountMinor, 0);
}
