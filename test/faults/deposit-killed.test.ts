/**
 * A deposit is executed exactly once, and its command gets the correct final state. The tests kill
 * the finance service or the gateway at fault points of a deposit, and restart it.
 */
import { randomUUID } from "node:crypto";

import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { readLedger } from "../e2e/ledger-view.ts";
import { OutsideClient } from "../e2e/outside-client.ts";
import { type RunningSystem, startSystem } from "../e2e/system.ts";
import { TradingControl } from "../e2e/trading-control.ts";

/**
 * Fault points of finance, in the order in which a deposit passes them. `finance.after-execute` is
 * left out: the tests of the account service cover `after-execute`.
 */
const FINANCE_POINTS = [
  "finance.after-inbox",
  "finance.before-execute",
  "finance.after-answer",
  "finance.in-transaction",
  "finance.after-commit",
  "finance.after-publish",
];

/** Fault points of the gateway from the idempotency record to the response, in order. */
const GATEWAY_POINTS = ["gateway.claimed", "gateway.published", "gateway.answered"];

let system: RunningSystem;

beforeAll(async () => {
  system = await startSystem({}, { together: false });
});

afterAll(async () => {
  await system.stop();
});

describe("a deposit when a process is killed", () => {
  it.each(FINANCE_POINTS)("is executed exactly once if finance is killed at %s", async (point) => {
    const client = new OutsideClient(system.demo);
    const finance = system.stack.process("finance");
    const account = await client.openAccount(100);
    await finance.restart({ FAULT_POINT: point });

    const accepted = await client.deposit(account, { amount: 12.34, requestId: point });
    expect(accepted.status).toBe(202);
    expect((await finance.ended()).signal).toBe("SIGKILL");

    await finance.start();
    const command = await client.finished(accepted.body.command.id);
    expect(command).toMatchObject({ status: "succeeded", errorCode: null, result: { balanceAfter: 112.34 } });
    const ledger = await readLedger(system.stack.servers.postgresUrl, system.demo.serverId, account);
    expect(ledger.filter((row) => row.commandId === command.id)).toHaveLength(1);
    expect(ledger.map((row) => [row.sequence, row.type, row.amountMinor])).toEqual([
      [1, "initial_balance", 10_000],
      [2, "deposit", 1_234],
    ]);
    expect((await new TradingControl(system.demo).account(account)).balanceMinor).toBe(11_234);
    expect((await client.account(account)).balance).toBe(112.34);
  });

  it.each(GATEWAY_POINTS)("is accepted exactly once after a retry if the gateway is killed at %s", async (point) => {
    const client = new OutsideClient(system.demo);
    const gateway = system.stack.process("gateway");
    const account = await client.openAccount(10);
    await gateway.restart({ FAULT_POINT: point });
    const key = randomUUID();
    const request = { amount: 5, requestId: key };
    await expect(client.deposit(account, request, key)).rejects.toThrow();
    expect((await gateway.ended()).signal).toBe("SIGKILL");
    await gateway.start();
    const retried = await client.deposit(account, request, key);
    expect([200, 202]).toContain(retried.status);
    expect((await client.finished(retried.body.command.id)).status).toBe("succeeded");
    const again = await client.deposit(account, request, key);
    expect(again).toMatchObject({ status: 200, body: { duplicate: true } });
    expect((await client.account(account)).balance).toBe(15);
    const ledger = await readLedger(system.stack.servers.postgresUrl, system.demo.serverId, account);
    expect(ledger.map((row) => row.amountMinor)).toEqual([1_000, 500]);
  });
});
