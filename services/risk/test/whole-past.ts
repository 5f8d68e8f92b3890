/** An oracle: finds breaches by looking at the whole past again for every valuation. */
import type { RiskRule } from "@kapi/contracts";

import type { AccountValues } from "../src/domain/evaluation.ts";

const DAY_MS = 86_400_000;
/** A percentage has at most four decimals. */
const PERCENT_UNITS = 10_000;

/** The value from which a rule counts, and the net deposits at that moment. */
interface Reference {
  readonly period: string;
  readonly baseMinor: number;
  readonly netDepositsMinor: number;
}

/**
 * The breaches of rules whose days start at 00:00 UTC, as `<index> <rule> <period>`, with the index
 * of the valuation. `all` begins with the values at which the rules were set. A valuation that was
 * measured before an earlier one does not count.
 */
export function breachesByWholePast(
  rules: readonly RiskRule[],
  all: readonly AccountValues[],
  account: { readonly initialBalanceMinor: number },
): string[] {
  const found: string[] = [];
  const seen = new Set<string>();
  for (const [index, now] of all.entries()) {
    const past = all.slice(0, index + 1).filter((one, at) => isInOrder(all, one, at));
    if (past.at(-1) !== now) continue;
    for (const rule of rules) {
      const reference = referenceOf(rule, past, account.initialBalanceMinor);
      const name = `${rule.id} ${reference.period}`;
      if (seen.has(name) || !isReached(rule, reference, now)) continue;
      seen.add(name);
      found.push(`${index} ${name}`);
    }
  }
  return found;
}

function isInOrder(all: readonly AccountValues[], one: AccountValues, at: number): boolean {
  return all.slice(0, at).every((earlier) => earlier.measuredAtMs <= one.measuredAtMs);
}

function referenceOf(rule: RiskRule, past: readonly AccountValues[], initialMinor: number): Reference {
  if (rule.type === "dailyLoss") {
    const today = dayOf(past.at(-1));
    const first = past.findIndex((one) => dayOf(one) === today);
    const start = past[Math.max(0, first - 1)];
    if (start === undefined) throw new TypeError("an account has values");
    const { equityMinor, balanceMinor } = start;
    const highest = Math.max(equityMinor, balanceMinor);
    const baseMinor = { equity: equityMinor, balance: balanceMinor, higher: highest }[rule.basis];
    return { period: new Date(today * DAY_MS).toISOString().slice(0, 10), baseMinor, netDepositsMinor: net(start) };
  }
  let reference: Reference = { period: "lifetime", baseMinor: initialMinor, netDepositsMinor: 0 };
  if (rule.type !== "maxLoss" || rule.trailing === undefined) return reference;
  for (const one of past) {
    const baseMinor = rule.trailing === "equity" ? one.equityMinor : one.balanceMinor;
    if (baseMinor - net(one) <= reference.baseMinor - reference.netDepositsMinor) continue;
    reference = { period: "lifetime", baseMinor, netDepositsMinor: net(one) };
  }
  return reference;
}

function isReached(rule: RiskRule, { baseMinor, netDepositsMinor }: Reference, now: AccountValues): boolean {
  const isProfit = rule.type === "profitTarget";
  const { percent, amount } = isProfit ? rule.target : rule.limit;
  const valueMinor = isProfit && rule.basis === "balance" ? now.balanceMinor : now.equityMinor;
  const gained = valueMinor - net(now) - (baseMinor - netDepositsMinor);
  const moved = BigInt(isProfit ? gained : -gained);
  if (percent === undefined) return moved >= BigInt(Math.round((amount ?? 0) * 100));
  if (baseMinor <= 0) return false;
  return moved * BigInt(100 * PERCENT_UNITS) >= BigInt(baseMinor) * BigInt(Math.round(percent * PERCENT_UNITS));
}

function dayOf(one: AccountValues | undefined): number {
  return Math.floor((one?.measuredAtMs ?? 0) / DAY_MS);
}

function net({ netDepositsMinor }: AccountValues): number {
  return netDepositsMinor ?? 0;
}
