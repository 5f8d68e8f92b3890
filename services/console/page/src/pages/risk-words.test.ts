import { describe, expect, it } from "vitest";

import type { MissingEvidence, RiskAction, RiskRule } from "../api/shapes.ts";
import { actionInWords, missingInWords, ruleInShort, ruleInWords } from "./risk-words.ts";

const daily = { id: "d", type: "dailyLoss", timeZone: "Europe/Prague", dayStart: "00:00", action: "disable" } as const;
const max = { id: "m", type: "maxLoss", action: "disable" } as const;
const target = { id: "t", type: "profitTarget", action: "notify" } as const;

describe("a risk rule in words", () => {
  it.each<[RiskRule, string]>([
    [
      { ...daily, limit: { percent: 5 }, basis: "higher" },
      "Daily loss 5 % of the higher of equity and balance at 00:00 Europe/Prague",
    ],
    [
      { ...daily, limit: { amount: 500 }, basis: "balance", dayStart: "17:00", timeZone: "America/New_York" },
      "Daily loss 500.00 USD from the balance at 17:00 America/New_York",
    ],
    [{ ...max, limit: { percent: 10 } }, "Maximum loss 10 % of the initial balance"],
    [{ ...max, limit: { amount: 2_500.5 }, startValue: 100_000 }, "Maximum loss 2,500.50 USD from 100,000.00 USD"],
    [
      { ...max, limit: { percent: 6.125 }, trailing: "equity" },
      "Maximum loss 6.125 % of the highest equity, which starts at the initial balance",
    ],
    [
      { ...max, limit: { amount: 5_000 }, trailing: "balance", startValue: 50_000, lockAt: 50_100 },
      "Maximum loss 5,000.00 USD from the highest balance, which starts at 50,000.00 USD; the threshold never rises above 50,100.00 USD",
    ],
    [
      { ...target, target: { percent: 8 }, basis: "balance" },
      "Profit target 8 % of the initial balance, reached by the balance",
    ],
    [
      { ...target, target: { amount: 800 }, basis: "equity", startValue: 10_000 },
      "Profit target 800.00 USD from 10,000.00 USD, reached by the equity",
    ],
  ])("names the limit, and the value from which it counts: %j", (rule, words) => {
    expect(ruleInWords(rule, "USD")).toBe(words);
  });

  it("has a short form: the type, and the limit with all its decimals", () => {
    expect(ruleInShort({ ...daily, limit: { percent: 4.0625 }, basis: "equity" }, "USD")).toBe("Daily loss 4.0625 %");
    expect(ruleInShort({ ...max, limit: { amount: 99.5 } }, "EUR")).toBe("Maximum loss 99.50 EUR");
    // The account was deleted, so its currency is unknown.
    expect(ruleInShort({ ...max, limit: { amount: 99.5 } }, null)).toBe("Maximum loss 99.50");
  });

  it("says what kapi does at a breach; an action of a later release is shown as it is", () => {
    expect(actionInWords("flatten_and_disable")).toBe("Closes all positions and disables the account");
    expect(actionInWords("notify")).toBe("Notifies, and changes nothing");
    expect(actionInWords("sell_everything" as RiskAction)).toBe("sell_everything");
  });
});

describe("a part that evidence lacks", () => {
  const at = "2026-11-26T09:30:40.000Z";

  it.each<[MissingEvidence, RegExp]>([
    [{ what: "positions", reason: "unavailable", from: null, to: null }, /^Open positions: kapi could not get them\.$/],
    [
      { what: "samples", reason: "expired", from: null, to: at },
      /^Live samples before .*40.*: kapi no longer had them when the document was made\.$/,
    ],
    [{ what: "valuations", reason: "limit", from: at, to: null }, /^Valuations after .*: the document would be too/],
    [
      { what: "prices", reason: "expired", from: at, to: at },
      /^Prices of open positions from .* to .*: kapi no longer/,
    ],
  ])("is named with the reason, and with its time if there is one: %j", (missing, words) => {
    expect(missingInWords(missing)).toMatch(words);
  });

  it("is named as the document names it if a later release added the part or the reason", () => {
    const unknown = { what: "orders", reason: "sealed", from: null, to: null } as unknown as MissingEvidence;
    expect(missingInWords(unknown)).toBe("orders: sealed.");
  });
});
