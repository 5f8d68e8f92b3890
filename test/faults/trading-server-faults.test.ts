/**
 * The trading server drops the response after applying, applies late, or is unavailable. A deposit
 * is still applied exactly once, and no command is final while its change could still apply. If the
 * trading server rejects a deposit, the command fails.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { readLedger } from "../e2e/ledger-view.ts";
import { OutsideClient, pause } from "../e2e/outside-client.ts";
import { type RunningSystem, startSystem } from "../e2e/system.ts";
import { type Fault, TradingControl } from "../e2e/trading-control.ts";

const APPLY_LATE_MS = 4_000;
const DEPOSIT_MINOR = 777;

let system: RunningSystem;
let client: OutsideClient;
let control: TradingControl;

beforeAll(async () => {
  system = await startSystem({}, { together: false });
  client = new OutsideClient(system.demo);
  control = new TradingControl(system.demo);
});

afterAll(async () => {
  await system.stop();
});

async function depositUnder(fault: Omit<Fault, "accountNumber">): Promise<{ account: string; commandId: string }> {
  const account = await client.openAccount(100);
  await control.inject({ ...fault, accountNumber: account });
  const accepted = await client.deposit(account, { amount: DEPOSIT_MINOR / 100, requestId: fault.kind });
  expect(accepted.status).toBe(202);
  return { account, commandId: accepted.body.command.id };
}

async function expectOnce(account: string, commandId: string): Promise<void> {
  const command = await client.finished(commandId);
  expect(command).toMatchObject({ status: "succeeded", result: { balanceAfter: 107.77 } });
  // Long enough for a delayed change inside the trading server to apply.
  await pause(APPLY_LATE_MS + 500);
  expect((await control.account(account)).balanceMinor).toBe(10_000 + DEPOSIT_MINOR);
  const ledger = await readLedger(system.stack.servers.postgresUrl, system.demo.serverId, account);
  expect(ledger.map((row) => [row.type, row.amountMinor, row.commandId])).toEqual([
    ["initial_balance", 10_000, expect.any(String)],
    ["deposit", DEPOSIT_MINOR, commandId],
  ]);
  expect(await client.finished(commandId)).toEqual(command);
}

describe("a deposit on a trading server", () => {
  it("is applied exactly once if the server drops the answer after applying", async () => {
    const { account, commandId } = await depositUnder({ kind: "drop_answer", operation: "deposit", count: 2 });
    await expectOnce(account, commandId);
  });

  it("is applied exactly once if the server applies it late", async () => {
    const { account, commandId } = await depositUnder({
      kind: "apply_late",
      operation: "deposit",
      count: 1,
      delayMs: APPLY_LATE_MS,
    });
    await expectOnce(account, commandId);
  });

  it("waits while the server is unreachable, and is then applied exactly once", async () => {
    const { account, commandId } = await depositUnder({ kind: "unreachable", operation: "deposit", count: 3 });
    await expectOnce(account, commandId);
  });

  it("is not final while the server is down, and is applied exactly once after its restart", async () => {
    const trading = system.stack.process("trading-simulator");
    const account = await client.openAccount(100);
    trading.kill("SIGKILL");
    await trading.ended();
    const { body } = await client.deposit(account, { amount: DEPOSIT_MINOR / 100, requestId: "dead" });
    await pause(2_000);
    const { body: meanwhile } = await client.call<{ command: { status: string } }>(
      "GET",
      `/commands/${body.command.id}`,
    );
    expect(["queued", "leased"]).toContain(meanwhile.command.status);
    await trading.start();
    await expectOnce(account, body.command.id);
  });

  it("fails and moves no money if the server rejects it", async () => {
    const account = await client.openAccount(100);
    await control.inject({ kind: "refuse", operation: "deposit", accountNumber: account, count: 1 });
    const { body } = await client.deposit(account, { amount: 1, requestId: "refused" });
    expect(await client.finished(body.command.id)).toMatchObject({ status: "failed", errorCode: "REJECTED_BY_SERVER" });
    expect((await control.account(account)).balanceMinor).toBe(10_000);
  });
});
