/** An oracle: finds alerts by looking at the whole past again for every valuation. */
import type { RiskRule } from "@kapi/contracts";

import type { AccountValues } from "../src/domain/evaluation.ts";

const MINUTE_MS = 60_000;
/** A percentage has at most four decimals. */
const PERCENT_UNITS = 10_000;
const WHOLE = BigInt(100 * PERCENT_UNITS);

/** What happened to an account, in the order of the log: a valuation, or new rules. */
export type Step =
  | { readonly at: string; readonly values: AccountValues }
  | { readonly rules: readonly RiskRule[]; readonly seed: AccountValues };

/** The identity of an alert. */
export interface PastAlert {
  /** `at` of the valuation; `rules` if the alert was found when rules were set. */
  readonly at: string;
  /** `at` of the valuation whose values were compared; `rules` for the values of a seed. */
  readonly valuesAt: string;
  readonly ruleId: string;
  /** Number of the version in which the rule was added, from 1. */
  readonly since: number;
  readonly period: string;
  readonly kind: "breached" | "warning";
}

/** Values that were compared with the rules of a version. */
interface Moment {
  readonly at: string;
  readonly valuesAt: string;
  readonly values: AccountValues;
  readonly version: number;
}

/** The value from which a rule measures a loss or a profit. */
interface Reference {
  readonly baseMinor: number;
  /** Net deposits when the value was measured. */
  readonly netDepositsMinor: number;
}

/**
 * The alerts of an account, in the order of the steps. A valuation does not count if an earlier
 * step has values that were measured later. The result can be wrong if the clocks change between
 * midnight and the start of a day, or if a rule changes its time zone or the start of its day.
 */
export function alertsByWholePast(
  steps: readonly Step[],
  account: { readonly initialBalanceMinor: number },
): PastAlert[] {
  const versions = steps.flatMap((step) => ("rules" in step ? [step.rules] : []));
  const moments = momentsOf(steps);
  const found: { readonly index: number; readonly order: number; readonly alert: PastAlert }[] = [];
  for (const [number, rules] of versions.entries()) {
    for (const [order, rule] of rules.entries()) {
      const since = firstOf(versions, number, rule, () => true);
      const begunIn = firstOf(versions, number, rule, (earlier) => measuredFrom(earlier) === measuredFrom(rule));
      const begin = moments.findIndex(({ version }) => version === begunIn);
      const past = moments.slice(begin);
      const days = past.map(({ values }) => periodOf(rule, values));
      for (const [index, moment] of past.entries()) {
        if (moment.version !== number) continue;
        const reference = referenceOf(rule, past.slice(0, index + 1), days, account.initialBalanceMinor);
        const kind = reachedBy(rule, reference, moment.values, past[0]?.values);
        if (kind === null) continue;
        const { at, valuesAt } = moment;
        const alert = { at, valuesAt, ruleId: rule.id, since: since + 1, period: days[index] ?? "", kind };
        found.push({ index: begin + index, order, alert });
      }
    }
  }
  const seen = new Set<string>();
  const inOrder = found.toSorted((one, other) => one.index - other.index || one.order - other.order);
  return inOrder.flatMap(({ alert }) => {
    const { ruleId, since, period, kind } = alert;
    const name = `${ruleId} ${since} ${period}`;
    if (seen.has(`${name} ${kind}`) || seen.has(`${name} breached`)) return [];
    seen.add(`${name} ${kind}`);
    return [alert];
  });
}

/**
 * When rules are set, the former rules are compared with the seed, unless the seed is older than
 * the last values. The new rules are compared with the seed or the last values, whichever are
 * newer.
 */
function momentsOf(steps: readonly Step[]): Moment[] {
  const moments: Moment[] = [];
  let version = -1;
  for (const step of steps) {
    const { at, values } = "rules" in step ? { at: "rules", values: step.seed } : step;
    const last = moments.at(-1);
    const isInOrder = last === undefined || values.measuredAtMs >= last.values.measuredAtMs;
    const compared = isInOrder ? { valuesAt: at, values } : { valuesAt: last.valuesAt, values: last.values };
    if (isInOrder && version >= 0) moments.push({ at, ...compared, version });
    if (!("rules" in step)) continue;
    version += 1;
    moments.push({ at, ...compared, version });
  }
  return moments;
}

/** The first of the consecutive versions up to `number` that have the rule and pass `isSo`. */
function firstOf(
  versions: readonly (readonly RiskRule[])[],
  number: number,
  { id, type }: RiskRule,
  isSo: (earlier: RiskRule) => boolean,
): number {
  let first = number;
  for (;;) {
    const earlier = versions[first - 1]?.find((one) => one.id === id && one.type === type);
    if (earlier === undefined || !isSo(earlier)) return first;
    first -= 1;
  }
}

/** What a rule measures from: a text that is equal for equal references. */
function measuredFrom(rule: RiskRule): string {
  if (rule.type === "dailyLoss") return rule.basis;
  return `${rule.startValue ?? "initial"} ${rule.type === "maxLoss" ? (rule.trailing ?? "") : ""}`;
}

function referenceOf(
  rule: RiskRule,
  past: readonly Moment[],
  days: readonly string[],
  initialMinor: number,
): Reference {
  const all = past.map(({ values }) => values);
  const [first] = all;
  if (first === undefined) throw new TypeError("no values to compare with the rule");
  if (rule.type === "dailyLoss") {
    const start = all[Math.max(0, days.indexOf(days[past.length - 1] ?? "") - 1)] ?? first;
    const { equityMinor, balanceMinor } = start;
    const highest = Math.max(equityMinor, balanceMinor);
    const baseMinor = { equity: equityMinor, balance: balanceMinor, higher: highest }[rule.basis];
    return { baseMinor, netDepositsMinor: net(start) };
  }
  const { startValue } = rule;
  let reference: Reference =
    startValue === undefined
      ? { baseMinor: initialMinor, netDepositsMinor: 0 }
      : { baseMinor: cents(startValue), netDepositsMinor: net(first) };
  if (rule.type !== "maxLoss" || rule.trailing === undefined) return reference;
  for (const one of all) {
    const baseMinor = rule.trailing === "equity" ? one.equityMinor : one.balanceMinor;
    if (baseMinor - net(one) <= reference.baseMinor - reference.netDepositsMinor) continue;
    reference = { baseMinor, netDepositsMinor: net(one) };
  }
  return reference;
}

function reachedBy(
  rule: RiskRule,
  { baseMinor, netDepositsMinor }: Reference,
  now: AccountValues,
  first: AccountValues | undefined,
): PastAlert["kind"] | null {
  const isProfit = rule.type === "profitTarget";
  const { percent, amount } = isProfit ? rule.target : rule.limit;
  if (percent !== undefined && baseMinor <= 0) return null;
  const limitMinor = percent === undefined ? cents(amount ?? 0) : shareOf(baseMinor, percent);
  const valueMinor = isProfit && rule.basis === "balance" ? now.balanceMinor : now.equityMinor;
  const gainedMinor = valueMinor - net(now) - (baseMinor - netDepositsMinor);
  const movedMinor = isProfit ? gainedMinor : -gainedMinor;
  const lockAt = rule.type === "maxLoss" ? rule.lockAt : undefined;
  if (lockAt !== undefined && first !== undefined && valueMinor > cents(lockAt) + net(now) - net(first)) return null;
  if (movedMinor >= limitMinor) return "breached";
  return rule.warnAt !== undefined && movedMinor >= shareOf(limitMinor, rule.warnAt) ? "warning" : null;
}

/** A share of an amount, rounded up to cents. */
function shareOf(amountMinor: number, percent: number): number {
  const product = BigInt(amountMinor) * BigInt(Math.round(percent * PERCENT_UNITS));
  return Number((product + WHOLE - 1n) / WHOLE);
}

const formats = new Map<string, Intl.DateTimeFormat>();

/** For a daily rule, the date of the day's start in the rule's time zone; otherwise `lifetime`. */
function periodOf(rule: RiskRule, { measuredAtMs }: AccountValues): string {
  if (rule.type !== "dailyLoss") return "lifetime";
  const { timeZone, dayStart } = rule;
  const format = formats.get(timeZone) ?? new Intl.DateTimeFormat("sv-SE", { timeZone });
  formats.set(timeZone, format);
  const [hours = 0, minutes = 0] = dayStart.split(":").map(Number);
  return format.format(measuredAtMs - (hours * 60 + minutes) * MINUTE_MS);
}

function cents(amount: number): number {
  return Math.round(amount * 100);
}

function net({ netDepositsMinor }: AccountValues): number {
  return netDepositsMinor ?? 0;
}
