import { randomUUID } from "node:crypto";

import { describe, expect, it } from "vitest";

import type { TradingStatus } from "../../src/contract.ts";
import { anyAccountNumber, type Bench, create, deposit, withdrawal, resultOf } from "./bench.ts";

const UNSUPPORTED_LEVERAGE = 77;
/** No server has quotes of this time. */
const BEFORE_ALL_QUOTES = "1970-01-01T00:00:00.000Z";

/** Tests of the effects of changes, and of reads. */
export function addAccountTests(bench: Bench): void {
  describe("accounts", () => {
    it("have their balance, event 1 and a snapshot when they are new", async () => {
      const accountNumber = anyAccountNumber();
      const outcome = await bench.change(accountNumber, create(12_345));
      expect(outcome).toMatchObject({
        status: "applied",
        event: { type: "account.created", sequence: 1, initialBalanceMinor: 12_345, balanceMinor: 12_345 },
      });
      expect(await bench.client.snapshot(bench.serverId, accountNumber)).toMatchObject({
        accountNumber,
        accountName: "Conformance",
        status: "active",
        leverage: 100,
        currency: "USD",
        balanceMinor: 12_345,
        equityMinor: 12_345,
        marginMinor: 0,
        freeMarginMinor: 12_345,
        marginLevel: 0,
        openPositionCount: 0,
        sequence: 1,
      });
    });

    it("have a number that is never reused, even after a deletion", async () => {
      const accountNumber = await bench.account();
      expect(resultOf(await bench.change(accountNumber, create(0)))).toBe("ACCOUNT_EXISTS");
      expect(resultOf(await bench.change(accountNumber, { type: "delete" }))).toBe("account.deleted");
      expect(resultOf(await bench.change(accountNumber, create(0)))).toBe("ACCOUNT_EXISTS");
      expect(resultOf(await bench.change(accountNumber, deposit(1)))).toBe("ACCOUNT_NOT_FOUND");
      expect(resultOf(await bench.change(accountNumber, { type: "delete" }))).toBe("unchanged");
      expect(await bench.client.snapshot(bench.serverId, accountNumber)).toBeNull();
      const history = await bench.client.history(bench.serverId, accountNumber, 0, 10);
      expect(history.events.map((event) => event.type)).toEqual(["account.created", "account.deleted"]);
    });

    it("that are unknown are not found", async () => {
      const nobody = anyAccountNumber();
      expect(resultOf(await bench.change(nobody, deposit(1)))).toBe("ACCOUNT_NOT_FOUND");
      expect(resultOf(await bench.change(nobody, { type: "delete" }))).toBe("ACCOUNT_NOT_FOUND");
      expect(await bench.client.snapshot(bench.serverId, nobody)).toBeNull();
      expect(await bench.client.eventSequence(bench.serverId, nobody)).toBeNull();
      expect(await bench.client.history(bench.serverId, nobody, 0, 10)).toEqual({ events: [], lastSequence: 0 });
    });

    it("have one of the values of leverage that the server supports", async () => {
      expect(resultOf(await bench.change(anyAccountNumber(), create(0, UNSUPPORTED_LEVERAGE)))).toBe(
        "LEVERAGE_NOT_SUPPORTED",
      );
      const account = await bench.account();
      const update = { type: "update", leverage: UNSUPPORTED_LEVERAGE } as const;
      expect(resultOf(await bench.change(account, update))).toBe("LEVERAGE_NOT_SUPPORTED");
      const outcome = await bench.change(account, { type: "update", accountName: "Renamed", leverage: 50 });
      expect(outcome).toMatchObject({ event: { type: "account.updated", accountName: "Renamed", leverage: 50 } });
      expect(resultOf(await bench.change(account, { type: "update", leverage: 50 }))).toBe("unchanged");
    });

    it("have no password in the event of a password change", async () => {
      const account = await bench.account();
      const password = "another password";
      const outcome = await bench.change(account, { type: "set_password", passwordKind: "investor", password });
      expect(outcome).toMatchObject({ event: { type: "account.password_changed", passwordKind: "investor" } });
      expect(JSON.stringify(outcome)).not.toContain(password);
    });

    it("allow a withdrawal of at most the available funds", async () => {
      const account = await bench.account(1_000);
      expect(resultOf(await bench.change(account, withdrawal(1_001)))).toBe("INSUFFICIENT_FUNDS");
      expect(await bench.change(account, withdrawal(1_000))).toMatchObject({
        event: { kind: "withdrawal", amountMinor: -1_000, balanceMinor: 0, description: "conformance" },
      });
    });
  });

  addStatusTests(bench);
  addCloseOnlyTests(bench);
  addFlattenTests(bench);
  addHistoryTests(bench);
  addQuoteTests(bench);
}

function addStatusTests(bench: Bench): void {
  describe("the status of an account", () => {
    const moves: [path: TradingStatus[], last: string][] = [
      [["active"], "unchanged"],
      [["close_only"], "account.status_changed"],
      [["close_only", "close_only"], "unchanged"],
      [["close_only", "active"], "account.status_changed"],
      [["close_only", "disabled"], "account.status_changed"],
      [["close_only", "archived"], "account.status_changed"],
      [["disabled"], "account.status_changed"],
      [["disabled", "close_only"], "INVALID_STATE_TRANSITION"],
      [["disabled", "disabled"], "unchanged"],
      [["disabled", "active"], "account.status_changed"],
      [["disabled", "archived"], "account.status_changed"],
      [["archived"], "account.status_changed"],
      [["archived", "archived"], "unchanged"],
      [["archived", "active"], "account.status_changed"],
      [["archived", "close_only"], "INVALID_STATE_TRANSITION"],
      [["archived", "disabled"], "INVALID_STATE_TRANSITION"],
    ];
    it.each(moves)("that was active, changed to %s in this order, gives %s at the last change", async (path, last) => {
      const account = await bench.account();
      let result = "";
      for (const status of path) result = resultOf(await bench.change(account, { type: "set_status", status }));
      expect(result).toBe(last);
    });

    it("`disabled` allows deposits and withdrawals; the status `archived` allows neither", async () => {
      const account = await bench.account();
      await bench.change(account, { type: "set_status", status: "disabled" });
      expect(resultOf(await bench.change(account, deposit(100)))).toBe("balance.changed");
      expect(resultOf(await bench.change(account, withdrawal(40)))).toBe("balance.changed");
      await bench.change(account, { type: "set_status", status: "archived" });
      expect(resultOf(await bench.change(account, deposit(1)))).toBe("ACCOUNT_ARCHIVED");
      expect(resultOf(await bench.change(account, withdrawal(1)))).toBe("ACCOUNT_ARCHIVED");
    });

    it("does not become archived while positions are open; a deletion is refused too, unless it closes the positions", async () => {
      const account = await bench.account(10_000_000);
      await bench.target.openPosition(account);
      const archive = { type: "set_status", status: "archived" } as const;
      expect(resultOf(await bench.change(account, archive))).toBe("ACCOUNT_HAS_OPEN_POSITIONS");
      expect(resultOf(await bench.change(account, { type: "delete" }))).toBe("ACCOUNT_HAS_OPEN_POSITIONS");
      expect(resultOf(await bench.change(account, { type: "delete", closePositions: true }))).toBe("account.deleted");
    });
  });
}

function addCloseOnlyTests(bench: Bench): void {
  describe("close-only", () => {
    const closeOnly = { type: "set_status", status: "close_only" } as const;

    it("keeps positions, cancels pending orders, and names the cancelled orders", async () => {
      const account = await bench.account(10_000_000);
      await bench.target.openPosition(account);
      const orders = [await bench.target.placeOrder(account), await bench.target.placeOrder(account)];
      const since = await bench.client.eventSequence(bench.serverId, account);
      const reference = randomUUID();
      const outcome = await bench.change(account, closeOnly, reference);
      expect(outcome).toMatchObject({
        event: { type: "account.status_changed", reference, previousStatus: "active" },
      });
      const named =
        outcome.status === "applied" && outcome.event?.type === "account.status_changed" ? outcome.event : null;
      expect(named?.cancelled?.toSorted()).toEqual(orders.toSorted());
      expect(await bench.change(account, closeOnly, reference)).toEqual(outcome);
      const { events } = await bench.client.history(bench.serverId, account, since ?? 0, 1_000);
      const cancelled = events.flatMap((event) => (event.type === "order.cancelled" ? [event.order.id] : []));
      expect(cancelled.toSorted()).toEqual(orders.toSorted());
      expect(events.at(-1)).toMatchObject({ type: "account.status_changed", reference });
      expect(await bench.client.snapshot(bench.serverId, account)).toMatchObject({
        status: "close_only",
        openPositionCount: 1,
      });
    });

    it("refuses new positions and new pending orders, until the account is active again", async () => {
      const account = await bench.account(10_000_000);
      await bench.change(account, closeOnly);
      await expect(bench.target.openPosition(account)).rejects.toThrow();
      await expect(bench.target.placeOrder(account)).rejects.toThrow();
      expect(await bench.client.snapshot(bench.serverId, account)).toMatchObject({ openPositionCount: 0 });
      await bench.change(account, { type: "set_status", status: "active" });
      await bench.target.openPosition(account);
      await bench.target.placeOrder(account);
      expect(await bench.client.snapshot(bench.serverId, account)).toMatchObject({ openPositionCount: 1 });
    });

    it("lets the trader close positions, and allows a deposit, a withdrawal and a flatten", async () => {
      const account = await bench.account(10_000_000);
      await bench.target.openPosition(account);
      await bench.change(account, closeOnly);
      await bench.target.closePositions(account);
      expect(await bench.client.snapshot(bench.serverId, account)).toMatchObject({ openPositionCount: 0 });
      expect(resultOf(await bench.change(account, deposit(1)))).toBe("balance.changed");
      expect(resultOf(await bench.change(account, withdrawal(1)))).toBe("balance.changed");
      expect(await bench.change(account, { type: "flatten" })).toMatchObject({
        event: { type: "account.flattened", status: "close_only" },
      });
    });
  });
}

function addFlattenTests(bench: Bench): void {
  describe("flatten", () => {
    it("closes every position once, and returns the closing deals of each position", async () => {
      const account = await bench.account(10_000_000);
      await bench.target.openPosition(account);
      await bench.target.openPosition(account);
      const since = await bench.client.eventSequence(bench.serverId, account);
      const reference = randomUUID();
      const outcome = await bench.change(account, { type: "flatten" }, reference);
      expect(outcome).toMatchObject({ event: { type: "account.flattened", reference, status: "active" } });
      expect(await bench.change(account, { type: "flatten" }, reference)).toEqual(outcome);
      const { events } = await bench.client.history(bench.serverId, account, since ?? 0, 1_000);
      const closed = events.flatMap((event) => (event.type === "position.closed" ? [event.position.id] : []));
      const deals = events.flatMap((event) => (event.type === "deal.executed" ? [event.deal.id] : []));
      const last = events.at(-1);
      if (last?.type !== "account.flattened") throw new Error("the last event is not the event of the change");
      expect(last.closed.map(({ positionId }) => positionId)).toEqual(closed);
      expect(last.closed.flatMap(({ dealIds }) => dealIds)).toEqual(deals);
      expect(last).toMatchObject({ openPositionCount: 0, cancelled: [] });
      expect(events.filter((event) => event.reference !== null)).toHaveLength(1);
    });

    it("of an account without positions closes nothing, and is applied", async () => {
      const outcome = await bench.change(await bench.account(), { type: "flatten" });
      expect(outcome).toMatchObject({ event: { type: "account.flattened", closed: [], cancelled: [] } });
    });

    it("together with the status `disabled` disables the account and closes its positions", async () => {
      const account = await bench.account(10_000_000);
      await bench.target.openPosition(account);
      const disable = { type: "set_status", status: "disabled", flatten: true } as const;
      const outcome = await bench.change(account, disable);
      expect(outcome).toMatchObject({
        event: { type: "account.flattened", status: "disabled", previousStatus: "active", openPositionCount: 0 },
      });
      expect(await bench.client.snapshot(bench.serverId, account)).toMatchObject({
        status: "disabled",
        openPositionCount: 0,
      });
      expect(await bench.change(account, disable)).toMatchObject({ event: { previousStatus: "disabled", closed: [] } });
    });
  });
}

function addHistoryTests(bench: Bench): void {
  describe("history", () => {
    it("has every event of the account once, without a gap, page by page", async () => {
      const account = await bench.account();
      for (let amount = 1; amount <= 6; amount += 1) await bench.change(account, deposit(amount));
      expect(await bench.client.eventSequence(bench.serverId, account)).toBe(7);
      const all = await bench.client.history(bench.serverId, account, 0, 1_000);
      expect(all.events.map((event) => event.sequence)).toEqual([1, 2, 3, 4, 5, 6, 7]);
      expect(all.lastSequence).toBe(7);
      const page = await bench.client.history(bench.serverId, account, 3, 2);
      expect(page).toEqual({ events: all.events.slice(3, 5), lastSequence: 7 });
      expect((await bench.client.history(bench.serverId, account, 7, 10)).events).toEqual([]);
    });

    it("of a deleted account stays readable, with the closing deals, and the deletion as the last event", async () => {
      const account = await bench.account(10_000_000);
      await bench.target.openPosition(account);
      const since = await bench.client.eventSequence(bench.serverId, account);
      await bench.change(account, { type: "delete", closePositions: true });
      const { events, lastSequence } = await bench.client.history(bench.serverId, account, since ?? 0, 1_000);
      const types = events.map(({ type }) => type);
      expect(types).toEqual(expect.arrayContaining(["deal.executed", "position.closed"]));
      expect(types.at(-1)).toBe("account.deleted");
      expect(await bench.client.eventSequence(bench.serverId, account)).toBe(lastSequence);
      expect(events.at(-1)?.sequence).toBe(lastSequence);
    });

    it("has the same event as the answer to a change", async () => {
      const account = await bench.account();
      const outcome = await bench.change(account, deposit(5));
      const { events } = await bench.client.history(bench.serverId, account, 1, 10);
      expect(outcome).toMatchObject({ status: "applied", event: events[0] });
    });
  });
}

/** A bridge without quotes answers 404 to each read of quotes, and passes. */
function addQuoteTests(bench: Bench): void {
  describe("quotes, if the server gives them,", () => {
    it("are returned for the requested symbols that the server knows; before the first quote there are none", async () => {
      const account = await bench.account(10_000_000);
      await bench.target.openPosition(account);
      const { events } = await bench.client.history(bench.serverId, account, 0, 1_000);
      const opened = events.find((event) => event.type === "position.opened");
      if (opened === undefined) throw new Error("`openPosition` made no event position.opened");
      const { symbol } = opened.position;
      const symbolsAt = async (at: string): Promise<string[] | undefined> => {
        const quotes = await bench.client.quotes(bench.serverId, ["no such symbol", symbol], at);
        return quotes?.map((quote) => quote.symbol);
      };
      const atOpening = await symbolsAt(opened.occurredAt);
      if (atOpening === undefined) return;
      expect(atOpening).toEqual([symbol]);
      expect(await symbolsAt(BEFORE_ALL_QUOTES)).toEqual([]);
    });
  });
}
