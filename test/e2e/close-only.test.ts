/** Close-only accounts (decisions, 15.9), as an organization's backend uses them. */
import { accountKey } from "@kapi/contracts";
import { toIso } from "@kapi/kernel";
import { eventually, valuation } from "@kapi/testkit";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { type CommandView, OutsideClient } from "./outside-client.ts";
import { publish } from "./publish.ts";
import { type RunningSystem, startSystem } from "./system.ts";
import { TradingControl } from "./trading-control.ts";

const HIGH_LEVERAGE = 500;
/** The price of an order that never executes. */
const FAR_PRICE = 0.5;
const SNAPSHOT_TIMEOUT_MS = 20_000;
const MINUTE_MS = 60_000;
const CLOSE_ONLY_WEBHOOK = "account.close_only";

let system: RunningSystem;
let client: OutsideClient;
let control: TradingControl;

beforeAll(async () => {
  system = await startSystem();
  client = new OutsideClient(system.demo);
  control = new TradingControl(system.demo);
});

afterAll(() => system.stop());

/** Queues a change. Returns the command when it is final. */
async function change(accountNumber: string, action: string): Promise<CommandView> {
  const { status, body } = await client.queue("POST", `/accounts/${accountNumber}/${action}`, { requestId: action });
  expect(status, JSON.stringify(body)).toBe(202);
  return client.finished(body.command.id);
}

async function list<T>(accountNumber: string, what: string): Promise<readonly T[]> {
  const path = client.server(`/accounts/${accountNumber}/${what}`);
  const { status, body } = await client.call<Record<string, readonly T[]>>("GET", path);
  expect(status).toBe(200);
  return body[what.replace(/\?.*/, "")] ?? [];
}

/** Places a pending order far from the market, if the account accepts orders. */
async function placeOrder(accountNumber: string): Promise<void> {
  const order = { symbol: "EURUSD", side: "buy", orderType: "limit", volume: 0.1, price: FAR_PRICE };
  await control.order(accountNumber, order);
}

/** An account with two positions and a pending order. */
async function tradingAccount(): Promise<{ accountNumber: string; positions: string[] }> {
  const accountNumber = await client.openAccount(100_000, HIGH_LEVERAGE);
  const positions = [await control.buy(accountNumber, "EURUSD", 0.5), await control.buy(accountNumber, "GBPUSD", 0.2)];
  await placeOrder(accountNumber);
  return { accountNumber, positions };
}

/** Expects that the account opens nothing: neither a position nor a pending order. */
async function expectNothingOpens(accountNumber: string): Promise<void> {
  const before = await control.openPositions(accountNumber);
  expect(await control.order(accountNumber, { symbol: "EURUSD", side: "buy", volume: 0.1 })).toBeNull();
  await placeOrder(accountNumber);
  expect(await control.openPositions(accountNumber)).toEqual(before);
  expect(await control.pendingOrders(accountNumber)).toEqual([]);
}

/**
 * Expects that `command` made the account close-only: its positions stay open, its pending order is
 * cancelled, and it opens nothing.
 */
async function expectCloseOnly(accountNumber: string, command: CommandView, positions: readonly string[]) {
  const orders = await list<{ id: string; status: string }>(accountNumber, "orders");
  const cancelled = orders.filter(({ status }) => status === "cancelled").map(({ id }) => id);
  expect(cancelled).toHaveLength(1);
  expect(command).toMatchObject({
    operation: "account.close_only",
    status: "succeeded",
    result: { status: "close_only", changed: true, cancelled },
  });
  const open = await list<{ id: string }>(accountNumber, "positions?status=open");
  expect(open.map(({ id }) => id).toSorted()).toEqual(positions.toSorted());
  expect((await client.account(accountNumber)).status).toBe("close_only");
  await expectNothingOpens(accountNumber);
}

describe("a close-only account", () => {
  it("keeps its positions, opens none until it is enabled, and is in the list of accounts with this status", async () => {
    const { accountNumber, positions } = await tradingAccount();
    await expectCloseOnly(accountNumber, await change(accountNumber, "close-only"), positions);
    const path = client.server("/accounts?status=close_only&limit=100");
    const { body } = await client.call<{ accounts: readonly { accountNumber: string }[] }>("GET", path);
    expect(body.accounts.map((found) => found.accountNumber)).toContain(accountNumber);
    await change(accountNumber, "enable");
    expect((await client.account(accountNumber)).status).toBe("active");
    await control.buy(accountNumber, "EURUSD", 0.1);
  });

  it("can reduce and close positions, get a deposit, and be flattened", async () => {
    const { accountNumber, positions } = await tradingAccount();
    await change(accountNumber, "close-only");
    await control.closeIfOpen(accountNumber, positions[0] ?? "", 0.2);
    const [reduced] = await list<{ closedVolume: number }>(accountNumber, "positions?status=open&symbol=EURUSD");
    expect(reduced?.closedVolume).toBe(0.2);
    await control.close(accountNumber, positions[0] ?? "");
    const deposit = await client.deposit(accountNumber, { amount: 5, requestId: "deposit" });
    await client.succeeded(deposit.body.command.id);
    const flatten = await change(accountNumber, "flatten");
    expect(flatten).toMatchObject({ status: "succeeded", result: { closed: [{ positionId: positions[1] }] } });
    expect((await client.account(accountNumber)).status).toBe("close_only");
  });

  it("is still valued and streamed, and its stored snapshots name the status", async () => {
    const { accountNumber } = await tradingAccount();
    await change(accountNumber, "close-only");
    const live = await client.live();
    expect((await live.next()).type).toBe("connected");
    live.send({ type: "subscribe", serverId: client.demo.serverId, accountNumber });
    const [latest] = await live.samples(1);
    const { bid, ask } = await control.price("EURUSD");
    await control.holdPrice("EURUSD", bid + 0.01, ask + 0.01);
    const [moved] = await live.samples(1);
    expect(moved).toMatchObject({ sequence: Number(latest?.["sequence"]) + 1, openPositionCount: 2 });
    live.close();
    // A valuation of the next minute makes metrics store the snapshot of the current minute.
    const { serverId } = client.demo;
    const later = valuation({ serverId, accountNumber, measuredAt: toIso(Date.now() + MINUTE_MS) });
    const key = accountKey(serverId, accountNumber);
    await publish(system.stack, [{ topic: "tradingValuations", key, value: JSON.stringify(later) }]);
    await eventually(
      async () => {
        const path = client.server(`/account-metrics?accountNumber=${accountNumber}&limit=1`);
        const { body } = await client.call<{ snapshots: readonly { accountStatus: string }[] }>("GET", path);
        expect(body.snapshots).toMatchObject([{ accountStatus: "close_only" }]);
      },
      { timeoutMs: SNAPSHOT_TIMEOUT_MS },
    );
  });

  it("can be disabled, and a disabled account does not become close-only", async () => {
    const { accountNumber } = await tradingAccount();
    await change(accountNumber, "close-only");
    expect((await change(accountNumber, "disable")).result).toEqual({ status: "disabled", changed: true });
    expect(await change(accountNumber, "close-only")).toMatchObject({
      status: "failed",
      errorCode: "INVALID_STATE_TRANSITION",
    });
    expect((await client.account(accountNumber)).status).toBe("disabled");
  });

  it("is announced in the event feed, with its status", async () => {
    const { accountNumber } = await tradingAccount();
    await change(accountNumber, "close-only");
    await eventually(async () => {
      const path = `/events?limit=1000&kinds=${CLOSE_ONLY_WEBHOOK}`;
      const { body } = await client.call<{ events: readonly { data: { accountNumber: string } }[] }>("GET", path);
      const found = body.events.filter(({ data }) => data.accountNumber === accountNumber);
      expect(found).toMatchObject([{ type: CLOSE_ONLY_WEBHOOK, data: { status: "close_only" } }]);
    });
  });
});

describe("an account after a breach with the action close_only", () => {
  it("keeps its positions, and opens none until it is enabled", async () => {
    const { accountNumber, positions } = await tradingAccount();
    const rules = [{ id: "target", type: "maxLoss", limit: { amount: 1 }, action: "close_only" }];
    const set = await client.queue("PUT", `/accounts/${accountNumber}/risk-rules`, { rules, requestId: "rules" });
    await client.succeeded(set.body.command.id);
    const [breach] = await eventually(async () => {
      const found = await list<{ commandId: string; action: string }>(accountNumber, "breaches");
      expect(found).toMatchObject([{ action: "close_only" }]);
      return found;
    });
    const command = await client.finished(breach?.commandId ?? "");
    expect(command).toMatchObject({ createdBy: { type: "system", id: "risk" } });
    await expectCloseOnly(accountNumber, command, positions);
    await change(accountNumber, "enable");
    await control.buy(accountNumber, "EURUSD", 0.1);
    expect(await list(accountNumber, "positions?status=open")).toHaveLength(3);
  });
});
