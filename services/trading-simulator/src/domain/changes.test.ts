import type { Change } from "@kapi/trading-server";
import { describe, expect, it } from "vitest";

import type { Account, AccountStatus } from "./account.ts";
import { abandonFlattening, applyChange, type ChangeResult } from "./changes.ts";
import { order, SERVER_ID, testAccount, TestTradingContext } from "../../test/test-trading-context.ts";
import { fromState, toState } from "./account.ts";
import { applyPrices } from "./market-effects.ts";
import { closePosition, placeOrder } from "./trading.ts";

const QUOTES = { EURUSD: { bid: 1.1, ask: 1.1 } };
type Body = Change extends infer C ? (C extends Change ? Omit<C, "reference" | "accountNumber"> : never) : never;

function change(context: TestTradingContext, account: Account | undefined, body: Body): ChangeResult {
  const input = {
    serverId: SERVER_ID,
    supportedLeverage: [50, 100],
    account,
    hashes: { trading: "t", investor: "i" },
  };
  return applyChange(context, input, { reference: "r", accountNumber: "10000001", ...body });
}

function codeOf(result: ChangeResult): string {
  if (result.applied === false) return result.code;
  if (result.applied === "incomplete") return "incomplete";
  return result.event === null ? "unchanged" : result.event.type;
}

const CREATE: Body = {
  type: "create",
  accountName: "A",
  leverage: 100,
  currency: "USD",
  initialBalanceMinor: 5_000,
  tradingPassword: "password1",
  investorPassword: "password2",
};

describe("a creation", () => {
  it("gives the account its balance, and reports event 1 with the reference", () => {
    const result = change(new TestTradingContext(), undefined, CREATE);
    expect(result).toMatchObject({
      applied: true,
      event: { type: "account.created", sequence: 1, reference: "r", balanceMinor: 5_000 },
    });
  });

  it("rejects a used number, also of a deleted account, and unsupported leverage", () => {
    const context = new TestTradingContext();
    const deleted = testAccount(0);
    deleted.status = "deleted";
    expect(codeOf(change(context, testAccount(0), CREATE))).toBe("ACCOUNT_EXISTS");
    expect(codeOf(change(context, deleted, CREATE))).toBe("ACCOUNT_EXISTS");
    expect(codeOf(change(context, undefined, { ...CREATE, leverage: 77 }))).toBe("LEVERAGE_NOT_SUPPORTED");
  });
});

describe("an account", () => {
  const moves: [from: AccountStatus, to: Exclude<AccountStatus, "deleted">, outcome: string][] = [
    ["active", "active", "unchanged"],
    ["active", "close_only", "account.status_changed"],
    ["active", "disabled", "account.status_changed"],
    ["active", "archived", "account.status_changed"],
    ["close_only", "active", "account.status_changed"],
    ["close_only", "close_only", "unchanged"],
    ["close_only", "disabled", "account.status_changed"],
    ["close_only", "archived", "account.status_changed"],
    ["disabled", "active", "account.status_changed"],
    ["disabled", "close_only", "INVALID_STATE_TRANSITION"],
    ["disabled", "disabled", "unchanged"],
    ["disabled", "archived", "account.status_changed"],
    ["archived", "active", "account.status_changed"],
    ["archived", "close_only", "INVALID_STATE_TRANSITION"],
    ["archived", "disabled", "INVALID_STATE_TRANSITION"],
    ["archived", "archived", "unchanged"],
    ["deleted", "active", "ACCOUNT_NOT_FOUND"],
    ["deleted", "close_only", "ACCOUNT_NOT_FOUND"],
    ["deleted", "disabled", "ACCOUNT_NOT_FOUND"],
    ["deleted", "archived", "ACCOUNT_NOT_FOUND"],
  ];
  it.each(moves)("that is %s and should become %s: %s", (from, status, outcome) => {
    const account = testAccount(0);
    account.status = from;
    expect(codeOf(change(new TestTradingContext(), account, { type: "set_status", status }))).toBe(outcome);
    expect(account.status).toBe(outcome === "account.status_changed" ? status : from);
  });

  it("with open positions cannot be archived, or deleted without `closePositions`; archiving an account cancels its pending orders", () => {
    const context = new TestTradingContext(QUOTES);
    const account = testAccount(10_000_000);
    placeOrder(context, account, order({ orderType: "limit", price: 1 }));
    const { position } = placeOrder(context, account, order());
    expect(codeOf(change(context, account, { type: "set_status", status: "archived" }))).toBe(
      "ACCOUNT_HAS_OPEN_POSITIONS",
    );
    expect(codeOf(change(context, account, { type: "delete" }))).toBe("ACCOUNT_HAS_OPEN_POSITIONS");
    account.positions.delete(position?.id ?? "");
    context.takeTypes();
    expect(codeOf(change(context, account, { type: "set_status", status: "archived" }))).toBe("account.status_changed");
    expect(context.takeTypes()).toEqual(["order.cancelled", "account.status_changed"]);
    expect(codeOf(change(context, account, { type: "delete" }))).toBe("account.deleted");
    expect(codeOf(change(context, account, { type: "delete" }))).toBe("unchanged");
  });

  it("is deleted with its open positions if requested: their events come before the deletion", () => {
    const context = new TestTradingContext(QUOTES);
    const account = testAccount(10_000_000);
    placeOrder(context, account, order());
    placeOrder(context, account, order());
    expect(codeOf(change(context, account, { type: "delete", closePositions: true }))).toBe("account.deleted");
    expect(account.positions.size).toBe(0);
    expect(context.events.at(-1)).toMatchObject({ type: "account.deleted", reference: "r", openPositionCount: 0 });
  });
});

describe("deposit and withdrawal", () => {
  const deposit: Body = { type: "balance", kind: "deposit", amountMinor: 100, description: "x" };
  const withdraw = (amountMinor: number): Body => ({
    type: "balance",
    kind: "withdrawal",
    amountMinor,
    description: null,
  });

  it("work on a disabled account, not on an archived one", () => {
    const account = testAccount(1_000);
    account.status = "disabled";
    expect(codeOf(change(new TestTradingContext(), account, deposit))).toBe("balance.changed");
    expect(codeOf(change(new TestTradingContext(), account, withdraw(100)))).toBe("balance.changed");
    account.status = "archived";
    expect(codeOf(change(new TestTradingContext(), account, deposit))).toBe("ACCOUNT_ARCHIVED");
    expect(codeOf(change(new TestTradingContext(), account, withdraw(1)))).toBe("ACCOUNT_ARCHIVED");
    expect(account.balanceMinor).toBe(1_000);
  });

  it("let a withdrawal take at most the free margin, and at most the balance", () => {
    const context = new TestTradingContext(QUOTES);
    const account = testAccount(200_000);
    placeOrder(context, account, order());
    const free = 200_000 - 300 - 110_000;
    expect(codeOf(change(context, account, withdraw(free + 1)))).toBe("INSUFFICIENT_FUNDS");
    expect(codeOf(change(context, account, withdraw(free)))).toBe("balance.changed");
    context.set("EURUSD", { bid: 1.2, ask: 1.2 });
    expect(codeOf(change(context, account, withdraw(account.balanceMinor + 1)))).toBe("INSUFFICIENT_FUNDS");
    expect(codeOf(change(context, account, withdraw(account.balanceMinor)))).toBe("balance.changed");
    expect(account.balanceMinor).toBe(0);
  });

  it("are rejected for unknown and deleted accounts", () => {
    const deleted = testAccount(1_000);
    deleted.status = "deleted";
    expect(codeOf(change(new TestTradingContext(), undefined, deposit))).toBe("ACCOUNT_NOT_FOUND");
    expect(codeOf(change(new TestTradingContext(), deleted, deposit))).toBe("ACCOUNT_NOT_FOUND");
  });
});

describe("an update", () => {
  it("changes name and leverage, and reports no event if nothing changes", () => {
    const account = testAccount(0);
    expect(codeOf(change(new TestTradingContext(), account, { type: "update", accountName: "B", leverage: 50 }))).toBe(
      "account.updated",
    );
    expect(account).toMatchObject({ name: "B", leverage: 50 });
    expect(codeOf(change(new TestTradingContext(), account, { type: "update", leverage: 50 }))).toBe("unchanged");
    expect(codeOf(change(new TestTradingContext(), account, { type: "update", leverage: 60 }))).toBe(
      "LEVERAGE_NOT_SUPPORTED",
    );
  });

  it("rejects a leverage if open positions would need more margin than available", () => {
    const context = new TestTradingContext(QUOTES);
    const account = testAccount(150_000);
    placeOrder(context, account, order());
    expect(codeOf(change(context, account, { type: "update", leverage: 50 }))).toBe("INSUFFICIENT_FUNDS");
    expect(account.leverage).toBe(100);
  });
});

describe("a change to close-only", () => {
  const closeOnly: Body = { type: "set_status", status: "close_only" };

  it("cancels the pending orders, lists them in its event, and keeps the positions", () => {
    const context = new TestTradingContext(QUOTES);
    const account = testAccount(10_000_000);
    placeOrder(context, account, order());
    placeOrder(context, account, order({ orderType: "limit", price: 1 }));
    placeOrder(context, account, order({ orderType: "stop", price: 1.2 }));
    const orders = [...account.orders.keys()];
    context.takeTypes();
    expect(change(context, account, closeOnly)).toMatchObject({
      event: {
        status: "close_only",
        previousStatus: "active",
        cancelled: orders,
        openPositionCount: 1,
        reference: "r",
      },
    });
    expect(context.takeTypes()).toEqual(["order.cancelled", "order.cancelled", "account.status_changed"]);
    expect([account.orders.size, account.positions.size]).toEqual([0, 1]);
  });

  it("has an empty `cancelled` without orders; the event of a change to another status has no `cancelled`", () => {
    const context = new TestTradingContext(QUOTES);
    const account = testAccount(0);
    expect(change(context, account, closeOnly)).toMatchObject({ event: { cancelled: [] } });
    const enabled = change(context, account, { type: "set_status", status: "active" });
    expect(enabled.applied === true && enabled.event).not.toHaveProperty("cancelled");
  });

  it("lets positions be reduced and closed, by the trader and by their stops", () => {
    const context = new TestTradingContext(QUOTES);
    const account = testAccount(10_000_000);
    const { position } = placeOrder(context, account, order());
    placeOrder(context, account, order({ stopLoss: 1.05 }));
    change(context, account, closeOnly);
    if (position === null) throw new Error("the order opened no position");
    closePosition(context, account, position, 40, null);
    expect(position.volume).toBe(60);
    context.set("EURUSD", { bid: 1.04, ask: 1.04 });
    applyPrices(context, account, new Set(["EURUSD"]));
    expect([...account.positions.values()]).toEqual([position]);
    closePosition(context, account, position, 60, null);
    expect(account.positions.size).toBe(0);
  });
});

describe("a flatten", () => {
  /** An account with a position in EURUSD, one in GBPUSD and a pending order. */
  function trading(): { context: TestTradingContext; account: Account } {
    const context = new TestTradingContext({ ...QUOTES, GBPUSD: { bid: 1.3, ask: 1.3 } });
    const account = testAccount(10_000_000);
    placeOrder(context, account, order());
    placeOrder(context, account, order({ symbol: "GBPUSD" }));
    placeOrder(context, account, order({ orderType: "limit", price: 1 }));
    context.takeTypes();
    return { context, account };
  }

  it("closes every position and cancels every order, and its event has all of them", () => {
    const { context, account } = trading();
    const positions = [...account.positions.keys()];
    const orders = [...account.orders.keys()];
    const result = change(context, account, { type: "flatten" });
    expect(result).toMatchObject({ event: { reference: "r", cancelled: orders, openPositionCount: 0 } });
    const event = context.events.at(-1);
    expect(event?.type === "account.flattened" && event.closed.map(({ positionId }) => positionId)).toEqual(positions);
    const ofPosition = ["order.executed", "deal.executed", "position.closed"];
    expect(context.takeTypes()).toEqual(["order.cancelled", ...ofPosition, ...ofPosition, "account.flattened"]);
    expect(account.flattening).toEqual({});
  });

  it("is incomplete while a market is closed, and its event has what all attempts closed, also after a restart", () => {
    const { context, account } = trading();
    const [euro, pound] = account.positions.keys();
    context.prices.setOpen("GBPUSD", false);
    expect(codeOf(change(context, account, { type: "flatten" }))).toBe("incomplete");
    const again = fromState(toState(account));
    expect(codeOf(change(context, again, { type: "flatten" }))).toBe("incomplete");
    placeOrder(context, again, order());
    context.prices.setOpen("GBPUSD", true);
    expect(codeOf(change(context, again, { type: "flatten" }))).toBe("account.flattened");
    const event = context.events.at(-1);
    const closed = event?.type === "account.flattened" ? event.closed.map(({ positionId }) => positionId) : [];
    expect(closed.slice(0, 2)).toEqual([euro, pound]);
    expect(closed).toHaveLength(3);
    expect(again.positions.size).toBe(0);
  });

  it("that is settled while incomplete is rejected; the message lists what was closed and cancelled", () => {
    const { context, account } = trading();
    const [euro, pound] = account.positions.keys();
    const [pending] = account.orders.keys();
    context.prices.setOpen("GBPUSD", false);
    change(context, account, { type: "flatten" });
    expect(abandonFlattening(context, account, "r")).toEqual({
      applied: false,
      code: "ACCOUNT_HAS_OPEN_POSITIONS",
      message: `closed positions: ${euro}; cancelled orders: ${pending}; still open, because a market is closed: ${pound} (GBPUSD)`,
    });
    expect(abandonFlattening(context, account, "r")).toBeNull();
  });

  it("lists at most 20 open positions when it is settled while incomplete", () => {
    const context = new TestTradingContext({ ...QUOTES, GBPUSD: { bid: 1.3, ask: 1.3 } });
    const account = testAccount(100_000_000);
    for (let count = 0; count < 60; count += 1) placeOrder(context, account, order({ symbol: "GBPUSD", volume: 1 }));
    context.prices.setOpen("GBPUSD", false);
    change(context, account, { type: "flatten" });
    expect(abandonFlattening(context, account, "r")).toMatchObject({
      message: expect.stringMatching(
        /^closed positions: none; cancelled orders: none; still open, because a market is closed: ([\w-]+ \(GBPUSD\), ){19}[\w-]+ \(GBPUSD\) and 40 more$/,
      ),
    });
  });

  it("that also disables the account disables it first: nothing can be opened while a market is closed", () => {
    const { context, account } = trading();
    context.prices.setOpen("GBPUSD", false);
    const disable = { type: "set_status", status: "disabled", flatten: true } as const;
    expect(codeOf(change(context, account, disable))).toBe("incomplete");
    expect(account.status).toBe("disabled");
    expect(context.takeTypes()[0]).toBe("account.status_changed");
    context.prices.setOpen("GBPUSD", true);
    expect(change(context, account, disable)).toMatchObject({
      event: { type: "account.flattened", status: "disabled", previousStatus: "active" },
    });
  });
});
