import assert from "node:assert/strict";

import { eventually } from "@kapi/testkit";

import { readLedger } from "../e2e/ledger-view.ts";
import type { OutsideClient } from "../e2e/outside-client.ts";
import { TradingControl } from "../e2e/trading-control.ts";
import type { Violations } from "../live/violations.ts";
import type { Moved } from "./traffic.ts";

const SETTLE_TIMEOUT_MS = 60_000;
const LOOK_INTERVAL_MS = 500;
/** Maximum number of printed lines of a difference. */
const MAX_LINES = 3;
/** The check of money stops after this many accounts with differences. */
const MAX_WRONG = 3;
const OPEN = ["queued", "leased"];
const NOT_DONE = ["failed", "expired"];

interface WalletView {
  readonly availableCredits: number;
  readonly reservedCredits: number;
  readonly lifetimePurchased: number;
  readonly lifetimeConsumed: number;
}

/**
 * Waits until every command is final. Reports commands that have not succeeded, and a number of
 * succeeded commands other than `count`.
 */
export async function checkCommands(client: OutsideClient, count: number, violations: Violations): Promise<void> {
  const total = async (status: string): Promise<number> => {
    const path = client.server(`/commands?status=${status}&limit=1`);
    const { body } = await client.call<{ pagination: { total: number } }>("GET", path);
    return body.pagination.total;
  };
  for (const status of OPEN) {
    await eventually(async () => assert.equal(await total(status), 0), {
      timeoutMs: SETTLE_TIMEOUT_MS,
      intervalMs: LOOK_INTERVAL_MS,
    }).catch((error: unknown) => violations.add(`commands stay ${status}: ${String(error)}`));
  }
  for (const status of NOT_DONE) {
    const commands = await total(status);
    if (commands > 0) violations.add(`${commands} commands are ${status}`);
  }
  const succeeded = await total("succeeded");
  if (succeeded !== count) violations.add(`${succeeded} commands have succeeded, ${count} were accepted`);
}

/**
 * Compares the ledger of each account with the accepted requests, the trading server, and the
 * balance that the API returns.
 */
export async function checkMoney(
  postgresUrl: string,
  client: OutsideClient,
  accounts: readonly string[],
  moved: readonly Moved[],
  violations: Violations,
): Promise<void> {
  const control = new TradingControl(client.demo);
  const byAccount = Map.groupBy(moved, ({ accountNumber }) => accountNumber);
  let wrong = 0;
  for (const account of accounts) {
    if (wrong === MAX_WRONG) return;
    await eventually(async () => {
      const ledger = await readLedger(postgresUrl, client.demo.serverId, account);
      const [{ balanceMinor }, { balance }] = await Promise.all([control.account(account), client.account(account)]);
      const sum = ledger.reduce((minor, row) => minor + row.amountMinor, 0);
      assert.deepEqual([sum, Math.round(balance * 100)], [balanceMinor, balanceMinor]);
      assert.ok(
        ledger.every(({ sequence }, index) => sequence === index + 1),
        "a sequence is missing",
      );
      const rows = ledger.filter(({ type }) => type === "deposit" || type === "withdrawal");
      const inOrder = (all: readonly (readonly [string | null, number])[]) => all.map(String).toSorted();
      assert.deepEqual(
        inOrder(rows.map((row) => [row.commandId, row.amountMinor])),
        inOrder((byAccount.get(account) ?? []).map((one) => [one.commandId, one.amountMinor])),
      );
    }).catch((error: unknown) => {
      const text = String(error).split("\n").slice(0, MAX_LINES).join(" ");
      wrong += 1;
      violations.add(`the money of account ${account} is wrong: ${text}`);
    });
  }
}

/** Checks that no credit stays reserved, and every credit is available or consumed. */
export async function checkCredits(client: OutsideClient, violations: Violations): Promise<void> {
  await eventually(
    async () => {
      const { wallet } = (await client.call<{ wallet: WalletView }>("GET", "/credits/balance")).body;
      assert.equal(wallet.reservedCredits, 0);
      assert.equal(wallet.availableCredits + wallet.lifetimeConsumed, wallet.lifetimePurchased);
    },
    { timeoutMs: SETTLE_TIMEOUT_MS, intervalMs: LOOK_INTERVAL_MS },
  ).catch((error: unknown) => violations.add(`the wallet is wrong: ${String(error)}`));
}
