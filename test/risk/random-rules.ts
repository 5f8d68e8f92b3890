/** Makes random risk rules of all types and actions. The API accepts these rules. */
import { RISK_ACTIONS, type RiskAction, type RiskLimit, type RiskRule, RiskRules } from "@kapi/contracts";

import type { RandomSource } from "../live/random-source.ts";

/** Time zone and start of the day for the rules `daily-0`, `daily-1` and `daily-2`. */
const DAYS = [
  { timeZone: "UTC", dayStart: "00:00" },
  { timeZone: "America/New_York", dayStart: "17:30" },
  { timeZone: "Asia/Tokyo", dayStart: "08:15" },
] as const;
/** A percentage has at most four decimals. */
const PERCENT_UNITS = 10_000;
/** Probability that a rule of the previous version is also in the new version. */
const KEPT = 0.7;
/** Probability that such a rule gets other values. */
const CHANGED = 0.5;

export interface RuleOptions {
  readonly random: RandomSource;
  readonly actions?: readonly RiskAction[];
  /**
   * In units of the currency: the largest limit, and the largest difference of a start value from
   * the initial balance. A limit in percent of the initial balance is at most this amount, too.
   */
  readonly maxAmount: number;
  readonly initialBalance: number;
}

/**
 * Returns one to four rules that the API accepts together. A rule of `before` can stay, unchanged
 * or with other values.
 */
export function randomRules(options: RuleOptions, before: readonly RiskRule[] = []): RiskRule[] {
  const { random } = options;
  for (;;) {
    const kept = before.filter(() => random.happens(KEPT));
    const rules = kept.map((rule) => (random.happens(CHANGED) ? changed(options, rule) : rule));
    const wanted = random.whole(Math.max(1, rules.length), 4);
    for (let tries = 0; rules.length < wanted && tries < 10; tries += 1) {
      const rule = randomRule(options);
      if (rules.every(({ id }) => id !== rule.id)) rules.push(rule);
    }
    const valid = RiskRules.safeParse(rules);
    if (valid.success) return valid.data;
  }
}

function randomRule(options: RuleOptions): RiskRule {
  const { random, maxAmount, initialBalance, actions = RISK_ACTIONS } = options;
  const limit: RiskLimit = random.happens(0.5)
    ? { percent: random.whole(1, Math.floor((maxAmount / initialBalance) * 100 * PERCENT_UNITS)) / PERCENT_UNITS }
    : { amount: random.whole(1, maxAmount * 100) / 100 };
  const warnAt = random.happens(0.5) ? { warnAt: random.whole(1, 99) } : {};
  const start = random.happens(0.3) ? { startValue: initialBalance - random.whole(0, maxAmount) } : {};
  const common = { ...warnAt, action: random.pick(actions) };
  const number = random.whole(0, DAYS.length - 1);
  switch (random.whole(0, 2)) {
    case 0: {
      const basis = random.pick(["equity", "balance", "higher"] as const);
      return { ...common, id: `daily-${number}`, type: "dailyLoss", limit, basis, ...(DAYS[number] ?? DAYS[0]) };
    }
    case 1: {
      const trailing = random.pick(["equity", "balance", null] as const);
      const lock = trailing !== null && random.happens(0.5) ? { lockAt: initialBalance } : {};
      const trails = trailing === null ? {} : { trailing, ...lock };
      return { ...common, id: `max-${number}`, type: "maxLoss", limit, ...trails, ...start };
    }
    default: {
      const basis = random.pick(["equity", "balance"] as const);
      return { ...common, id: `target-${number}`, type: "profitTarget", target: limit, basis, ...start };
    }
  }
}

/**
 * The same rule with other values. A daily rule keeps its time zone and the start of its day,
 * because the oracle does not support a change of them.
 */
function changed(options: RuleOptions, rule: RiskRule): RiskRule {
  for (;;) {
    const other = randomRule(options);
    if (other.type !== rule.type) continue;
    if (other.type !== "dailyLoss" || rule.type !== "dailyLoss") return { ...other, id: rule.id };
    return { ...other, id: rule.id, timeZone: rule.timeZone, dayStart: rule.dayStart };
  }
}
