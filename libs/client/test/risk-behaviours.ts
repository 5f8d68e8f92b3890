/** What users of the client rely on when they use risk rules, flatten and close-only. */
import { expect, it } from "vitest";

import { type AccountResource, CommandFailed, InvalidRequestError, type RiskRule } from "../src/index.ts";
import type { Subject } from "./subject.ts";

interface RiskSubject extends Subject {
  newAccount(): Promise<string>;
  newKey(): string;
}

const FLOOR = { id: "floor", type: "maxLoss", limit: { amount: "0.10" } } as const;

/** Declares the tests; `subject` is called when they run. */
export function addRiskTests(subject: () => RiskSubject): void {
  const key = (): { key: string } => ({ key: subject().newKey() });
  const resourceOf = (accountNumber: string): AccountResource =>
    subject().kapi.server(subject().serverId).account(accountNumber);

  /** An account with an open position and a pending order. */
  async function tradingAccount(): Promise<{ account: AccountResource; positionId: string }> {
    const accountNumber = await subject().newAccount();
    const positionId = await subject().openPosition(accountNumber);
    await subject().placeOrder(accountNumber);
    return { account: resourceOf(accountNumber), positionId };
  }

  /** The ids of the cancelled orders. */
  const cancelledOf = async (account: AccountResource): Promise<string[]> =>
    (await account.orders({ status: "cancelled" }).toArray()).map(({ id }) => id);

  it("flattens an account, and returns the closed positions and cancelled orders", async () => {
    const { account, positionId } = await tradingAccount();
    const flatten = await account.flatten(key());
    const { closed, cancelled } = await flatten.result();
    expect(closed).toMatchObject([{ positionId }]);
    expect(await account.openPositionCount()).toBe(0);
    const exits = await account.deals({ positionId, kind: "exit" }).toArray();
    expect(closed[0]?.dealIds).toEqual(exits.map(({ id }) => id));
    expect(cancelled).toHaveLength(1);
    expect(await cancelledOf(account)).toEqual(cancelled);
    expect((await account.get()).account.status).toBe("active");
  });

  it("disables and flattens an account with one command", async () => {
    const { account, positionId } = await tradingAccount();
    const disable = await account.disable({ ...key(), flatten: true });
    const result = await disable.result();
    expect(result).toMatchObject({ status: "disabled", changed: true, closed: [{ positionId }] });
    expect(result.cancelled).toEqual(await cancelledOf(account));
    const { account: shown } = await account.get();
    expect(shown).toMatchObject({ status: "disabled", openPositionCount: 0 });
  });

  it("makes an account close-only until it is enabled; a repeated request with the same key is a duplicate", async () => {
    const { account, positionId } = await tradingAccount();
    const options = key();
    const first = await (await account.closeOnly(options)).result();
    const cancelled = await cancelledOf(account);
    expect(cancelled).toHaveLength(1);
    expect(first).toEqual({ status: "close_only", changed: true, cancelled });
    expect((await account.get()).account).toMatchObject({ status: "close_only", openPositionCount: 1 });
    await expect(subject().openPosition(account.accountNumber)).rejects.toThrow();
    await expect(subject().placeOrder(account.accountNumber)).rejects.toThrow();
    const repeat = await account.closeOnly(options);
    expect(repeat.duplicate).toBe(true);
    expect(await repeat.result()).toEqual(first);
    const again = await account.closeOnly(key());
    expect(await again.result()).toEqual({ status: "close_only", changed: false, cancelled: [] });
    expect((await (await account.flatten(key())).result()).closed).toMatchObject([{ positionId }]);
    expect(await (await account.enable(key())).result()).toEqual({ status: "active", changed: true });
    await subject().openPosition(account.accountNumber);
  });

  it("does not make a disabled account close-only, but disables a close-only account", async () => {
    const account = resourceOf(await subject().newAccount());
    await (await account.closeOnly(key())).result();
    expect(await (await account.disable(key())).result()).toEqual({ status: "disabled", changed: true });
    const error: unknown = await (await account.closeOnly(key())).result().catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(CommandFailed);
    expect(error).toMatchObject({ code: "INVALID_STATE_TRANSITION" });
  });

  it("sets, replaces, reads and removes risk rules, with money as decimal strings", async () => {
    const account = resourceOf(await subject().newAccount());
    expect(await account.riskRules()).toMatchObject({ version: 0, rules: [], commandId: null, activeFrom: null });
    const daily: RiskRule = { id: "day", type: "dailyLoss", limit: { percent: 5 }, basis: "higher", action: "disable" };
    const floor: RiskRule = { ...FLOOR, limit: { amount: "250.50" }, action: "notify" };
    await (await account.setRiskRules([floor], key())).result();
    const set = await account.setRiskRules([floor, daily], key());
    expect(await set.result()).toMatchObject({ version: 2 });
    const shown = await account.riskRules();
    expect(shown).toMatchObject({ version: 2, commandId: set.id, accountNumber: account.accountNumber });
    expect(shown.rules).toEqual([floor, { ...daily, timeZone: "UTC", dayStart: "00:00" }]);
    const removed = await account.deleteRiskRules(key());
    expect(await removed.result()).toMatchObject({ version: 3 });
    expect(await account.riskRules()).toMatchObject({ version: 3, rules: [], commandId: removed.id });
  });

  it("rejects an empty list of rules, and rules with equal ids", async () => {
    const account = resourceOf(await subject().newAccount());
    const rule: RiskRule = { ...FLOOR, action: "notify" };
    await expect(account.setRiskRules([], key())).rejects.toThrow(InvalidRequestError);
    await expect(account.setRiskRules([rule, rule], key())).rejects.toThrow(InvalidRequestError);
  });

  it("acts on a breach with a command, which the breach names, and announces the breach", async () => {
    const { kapi } = subject();
    const { next } = await kapi.events.page({ after: "now" });
    const { account } = await tradingAccount();
    const rules: RiskRule[] = [{ ...FLOOR, action: "close_only" }];
    await (await account.setRiskRules(rules, key())).result();
    await subject().breach(account.accountNumber, FLOOR.id);
    await expect.poll(async () => (await account.breaches().toArray()).length).toBe(1);
    const [breach] = await account.breaches({ ruleId: FLOOR.id }).toArray();
    expect(await account.breaches({ ruleId: "other" }).toArray()).toEqual([]);
    expect(breach).toMatchObject({ rule: rules[0], period: "lifetime", action: "close_only", ruleVersion: 1 });
    expect(breach).toMatchObject({ reference: "1000.00", threshold: "999.90" });
    const command = await kapi.commands.wait(breach?.commandId ?? "");
    expect(command).toMatchObject({
      operation: "account.close_only",
      status: "succeeded",
      createdBy: { type: "system", id: "risk" },
    });
    expect((await account.get()).account.status).toBe("close_only");
    await expect
      .poll(async () => {
        const { events } = await kapi.events.page({ after: next, kinds: ["risk.breached"] });
        return events.filter(({ data }) => data.accountNumber === account.accountNumber);
      })
      .toMatchObject([{ data: { id: breach?.id, commandId: command.id, accountSequence: null } }]);
  });

  it("adds no breach when a breached rule is replaced, but allows another breach after the rule was removed and set again", async () => {
    const { account } = await tradingAccount();
    const rules: RiskRule[] = [{ ...FLOOR, action: "notify" }];
    const breachCount = async (): Promise<number> => (await account.breaches().toArray()).length;
    await (await account.setRiskRules(rules, key())).result();
    await subject().breach(account.accountNumber, FLOOR.id);
    await expect.poll(breachCount).toBe(1);
    const wider: RiskRule[] = [{ ...FLOOR, limit: { amount: "0.20" }, action: "notify" }];
    await (await account.setRiskRules(wider, key())).result();
    expect(await breachCount()).toBe(1);
    await (await account.deleteRiskRules(key())).result();
    await (await account.setRiskRules(rules, key())).result();
    await subject().breach(account.accountNumber, FLOOR.id);
    await expect.poll(breachCount).toBe(2);
  });

  it("has no command for a breach of a rule that only notifies", async () => {
    const { account } = await tradingAccount();
    await (await account.setRiskRules([{ ...FLOOR, action: "notify" }], key())).result();
    await subject().breach(account.accountNumber, FLOOR.id);
    await expect.poll(async () => (await account.breaches().toArray()).length).toBe(1);
    expect(await account.breaches().first()).toMatchObject({ action: "notify", commandId: null });
    expect((await account.get()).account.status).toBe("active");
  });
}
