import type { RiskRule } from "@kapi/contracts";
import fc from "fast-check";
import { describe, expect, it } from "vitest";

import { DayCalendar } from "./day.ts";
import { type AccountState, type AccountValues, activate, emptyState, evaluate, type Alert } from "./evaluation.ts";
import { type RuleSet, toRule } from "./rule.ts";
import { alertsByWholePast, type PastAlert, type Step } from "../../test/whole-past.ts";

const START_MS = Date.parse("2026-11-24T08:00:00.000Z");
const HOUR_MS = 3_600_000;
const ACCOUNT = { initialBalanceMinor: 10_000_00 };
const UTC = { timeZone: "UTC", dayStart: "00:00" } as const;

const calendars = new Map<string, DayCalendar>();
function calendarOf(timeZone: string, dayStart: string): DayCalendar {
  const key = `${timeZone}/${dayStart}`;
  const calendar = calendars.get(key) ?? new DayCalendar(timeZone, dayStart);
  calendars.set(key, calendar);
  return calendar;
}

function values(afterHours: number, equity: number, more: Partial<AccountValues> = {}): AccountValues {
  return {
    measuredAtMs: START_MS + afterHours * HOUR_MS,
    equityMinor: equity * 100,
    balanceMinor: equity * 100,
    netDepositsMinor: 0,
    ...more,
  };
}

function rulesOf(rules: readonly RiskRule[], version = 1): RuleSet {
  return { version, rules: rules.map((rule) => toRule(rule, 1)) };
}

/** Activates the rules with the first values as the seed, then compares all later values. */
function run(rules: readonly RiskRule[], all: readonly AccountValues[]): { state: AccountState; found: Alert[] } {
  const state = emptyState();
  const set = rulesOf(rules);
  const [seed, ...rest] = all;
  if (seed === undefined) throw new TypeError("an account has values");
  const found = activate(state, null, set, ACCOUNT, calendarOf, seed);
  for (const one of rest) found.push(...evaluate(state, set, ACCOUNT, calendarOf, one));
  return { state, found };
}

const DAILY: RiskRule = {
  id: "daily",
  type: "dailyLoss",
  limit: { percent: 5 },
  basis: "equity",
  ...UTC,
  action: "disable",
};
const MAX: RiskRule = { id: "max", type: "maxLoss", limit: { percent: 10 }, action: "disable" };

describe("a daily loss limit", () => {
  it("is breached by the first valuation that reaches it, once a day", () => {
    const { found } = run([DAILY], [values(0, 10_000), values(1, 9_500.01), values(2, 9_500), values(3, 9_000)]);
    expect(found).toMatchObject([
      {
        kind: "breached",
        period: "2026-11-24",
        referenceMinor: 10_000_00,
        thresholdMinor: 9_500_00,
        valueMinor: 9_500_00,
      },
    ]);
  });

  it("counts from the last values before the day, and can be breached again the next day", () => {
    const { found } = run([DAILY], [values(0, 10_000), values(15, 9_400), values(16, 9_300), values(17, 8_930)]);
    expect(found.map(({ period, thresholdMinor }) => [period, thresholdMinor])).toEqual([
      ["2026-11-24", 9_500_00],
      ["2026-11-25", 8_930_00],
    ]);
  });

  it("counts from equity, balance or the higher of the two", () => {
    const seed = values(0, 10_000, { balanceMinor: 12_000_00 });
    const thresholds = (["equity", "balance", "higher"] as const).map(
      (basis) => run([{ ...DAILY, basis }], [seed, values(1, 1)]).found[0]?.thresholdMinor,
    );
    expect(thresholds).toEqual([9_500_00, 11_400_00, 11_400_00]);
  });

  it("is not breached by a withdrawal, and a deposit does not prevent a breach", () => {
    const payout = values(1, 8_000, { netDepositsMinor: -2_000_00 });
    const loss = values(2, 7_500, { netDepositsMinor: -2_000_00 });
    expect(run([DAILY], [values(0, 10_000), payout]).found).toEqual([]);
    expect(run([DAILY], [values(0, 10_000), payout, loss]).found).toMatchObject([
      { referenceMinor: 8_000_00, thresholdMinor: 7_500_00 },
    ]);
    const refilled = values(1, 10_500, { netDepositsMinor: 1_000_00 });
    expect(run([DAILY], [values(0, 10_000), refilled]).found).toMatchObject([{ thresholdMinor: 10_500_00 }]);
  });

  it("is not breached when the trading server begins or stops to report net deposits", () => {
    const silent = { netDepositsMinor: null };
    const telling = { netDepositsMinor: 4_000_00 };
    const all = [
      values(0, 10_000, silent),
      values(1, 9_600, telling),
      values(2, 9_600, silent),
      values(3, 9_500, telling),
    ];
    expect(run([DAILY], all.slice(0, 3)).found).toEqual([]);
    expect(run([DAILY], all).found).toMatchObject([{ referenceMinor: 10_000_00 }]);
  });

  it("is not breached on an account without money", () => {
    expect(run([DAILY], [values(0, 0), values(1, 0)]).found).toEqual([]);
  });
});

describe("a maximum loss", () => {
  it("counts from the initial balance, or from the value that the rule names", () => {
    const named: RiskRule = { ...MAX, startValue: 50_000 };
    expect(run([MAX], [values(0, 10_000), values(1, 9_000)]).found).toMatchObject([{ period: "lifetime" }]);
    // 40,000 were deposited before the rule was set.
    const funded = values(0, 50_000, { netDepositsMinor: 40_000_00 });
    const lost = values(1, 45_000, { netDepositsMinor: 40_000_00 });
    expect(run([named], [funded]).found).toEqual([]);
    expect(run([named], [funded, lost]).found).toMatchObject([{ thresholdMinor: 45_000_00 }]);
  });

  it("trails the highest equity, but its threshold does not rise above `lockAt`", () => {
    const trailing: RiskRule = { ...MAX, limit: { amount: 1_000 }, trailing: "equity", lockAt: 10_000 };
    expect(run([trailing], [values(0, 10_000), values(1, 10_600), values(2, 9_600)]).found).toMatchObject([
      { referenceMinor: 10_600_00, thresholdMinor: 9_600_00 },
    ]);
    expect(run([trailing], [values(0, 10_000), values(1, 15_000), values(2, 10_000.01)]).found).toEqual([]);
    expect(run([trailing], [values(0, 10_000), values(1, 15_000), values(2, 10_000)]).found).toHaveLength(1);
  });

  it("trails the highest balance, whatever the equity", () => {
    const trailing: RiskRule = { ...MAX, trailing: "balance" };
    const open = values(1, 14_000, { balanceMinor: 10_000_00 });
    const closed = values(2, 12_000, { balanceMinor: 12_000_00 });
    expect(run([trailing], [values(0, 10_000), open, values(3, 9_001)]).found).toEqual([]);
    expect(run([trailing], [values(0, 10_000), open, closed, values(3, 10_800)]).found).toHaveLength(1);
  });

  it("is breached at once if the account has lost more than the limit before the rule is set", () => {
    expect(run([MAX], [values(0, 8_000)]).found).toMatchObject([{ kind: "breached", thresholdMinor: 9_000_00 }]);
  });
});

describe("a profit target", () => {
  const target: RiskRule = {
    id: "target",
    type: "profitTarget",
    target: { percent: 8 },
    basis: "balance",
    warnAt: 50,
    action: "notify",
  };

  it("is reached by the balance if that is its basis, after a warning at a share of the target", () => {
    const open = values(1, 11_000, { balanceMinor: 10_399_99 });
    const { found } = run([target], [values(0, 10_000), open, values(2, 10_400), values(3, 10_800), values(4, 11_000)]);
    expect(found.map(({ kind, valueMinor }) => [kind, valueMinor])).toEqual([
      ["warning", 10_400_00],
      ["breached", 10_800_00],
    ]);
  });

  it("does not count a deposit as profit", () => {
    expect(run([target], [values(0, 10_000), values(1, 12_000, { netDepositsMinor: 2_000_00 })]).found).toEqual([]);
  });
});

describe("a warning", () => {
  it("is sent once a period, and not after the breach", () => {
    const rule: RiskRule = { ...DAILY, warnAt: 80 };
    const all = [
      values(0, 10_000),
      values(1, 9_600),
      values(2, 9_700),
      values(3, 9_590),
      values(4, 9_500),
      values(5, 9_550),
    ];
    expect(run([rule], all).found.map(({ kind }) => kind)).toEqual(["warning", "breached"]);
    expect(run([rule], [values(0, 10_000), values(1, 9_400), values(2, 9_590)]).found.map(({ kind }) => kind)).toEqual([
      "breached",
    ]);
  });
});

describe("a changed rule", () => {
  it("keeps its reference, and stays breached until the period ends", () => {
    const { state, found } = run([DAILY], [values(0, 10_000), values(1, 9_700)]);
    const tighter = rulesOf([{ ...DAILY, limit: { percent: 3 } }], 2);
    found.push(...activate(state, rulesOf([DAILY]), tighter, ACCOUNT, calendarOf, values(2, 9_800)));
    expect(found).toEqual([]);
    found.push(...evaluate(state, tighter, ACCOUNT, calendarOf, values(3, 9_700)));
    const wider = rulesOf([{ ...DAILY, limit: { percent: 4 } }], 3);
    found.push(...activate(state, tighter, wider, ACCOUNT, calendarOf, values(4, 9_700)));
    found.push(...evaluate(state, wider, ACCOUNT, calendarOf, values(5, 9_000)));
    expect(found).toMatchObject([{ thresholdMinor: 9_700_00 }]);
  });

  it("that measures from another value stays breached until the period ends", () => {
    const { state } = run([DAILY], [values(0, 10_000), values(1, 9_500)]);
    const byBalance = rulesOf([{ ...DAILY, basis: "balance" }], 2);
    expect(activate(state, rulesOf([DAILY]), byBalance, ACCOUNT, calendarOf, values(2, 9_000))).toEqual([]);
    expect(evaluate(state, byBalance, ACCOUNT, calendarOf, values(3, 1_000))).toEqual([]);
    expect(evaluate(state, byBalance, ACCOUNT, calendarOf, values(16, 950))).toMatchObject([
      { referenceMinor: 1_000_00 },
    ]);
  });

  it("that is removed and added again starts anew", () => {
    const { state } = run([MAX], [values(0, 10_000), values(1, 9_000)]);
    const none = rulesOf([DAILY], 2);
    activate(state, rulesOf([MAX]), none, ACCOUNT, calendarOf, values(2, 9_000));
    const again = { version: 3, rules: [toRule(MAX, 3)] };
    expect(activate(state, none, again, ACCOUNT, calendarOf, values(3, 9_000))).toHaveLength(1);
  });
});

const percentOrAmount = fc.oneof(
  fc.integer({ min: 1, max: 1_000_000 }).map((units) => ({ percent: units / 10_000 })),
  fc.integer({ min: 1, max: 2_000_00 }).map((cents) => ({ amount: cents / 100 })),
);
const cents = fc.integer({ min: 9_000_00, max: 11_000_00 }).map((minor) => minor / 100);
const common = {
  warnAt: fc.option(fc.integer({ min: 1, max: 99 }), { nil: undefined }),
  action: fc.constant("notify" as const),
};
const someRule = fc.oneof(
  fc.record({
    ...common,
    type: fc.constant("dailyLoss" as const),
    limit: percentOrAmount,
    basis: fc.constantFrom("equity" as const, "balance" as const, "higher" as const),
  }),
  fc.record({
    ...common,
    type: fc.constant("maxLoss" as const),
    limit: percentOrAmount,
    trailing: fc.constantFrom("equity" as const, "balance" as const, undefined),
    startValue: fc.constantFrom(undefined, 9_500, 10_000.01),
    lockAt: fc.option(cents, { nil: undefined }),
  }),
  fc.record({
    ...common,
    type: fc.constant("profitTarget" as const),
    target: percentOrAmount,
    basis: fc.constantFrom("equity" as const, "balance" as const),
    startValue: fc.constantFrom(undefined, 9_500, 10_000.01),
  }),
);
/**
 * Time zone and start of the day of a daily rule, by the rule's index. They are the same in all
 * versions, because the oracle is wrong if a rule changes them.
 */
const DAYS = [
  UTC,
  { timeZone: "America/New_York", dayStart: "17:00" },
  { timeZone: "Asia/Kolkata", dayStart: "00:30" },
] as const;
/** Up to three rules. All versions have the same ids, with random types and limits. */
const someRules = fc
  .array(someRule, { minLength: 0, maxLength: DAYS.length })
  .map((some) => some.map((rule, index) => ({ ...rule, ...DAYS[index], id: `rule-${index}` }) as RiskRule));
/** A market: steps of time, of equity and of balance, deposits, and new rules. */
const someMarket = fc.array(
  fc.record({
    minutes: fc.integer({ min: -20, max: 14 * 60 }),
    equity: fc.integer({ min: -900_00, max: 900_00 }),
    balance: fc.integer({ min: -300_00, max: 300_00 }),
    deposit: fc.oneof({ weight: 8, arbitrary: fc.constant(0) }, fc.integer({ min: -2_000_00, max: 2_000_00 })),
    /** Whether another process takes the account over before this valuation. */
    takeover: fc.boolean(),
    rules: fc.oneof({ weight: 6, arbitrary: fc.constant(null) }, someRules),
  }),
  { minLength: 1, maxLength: 60, size: "max" },
);

/** The rules of a version. A rule keeps the version that added it, as in `rule-repository.ts`. */
function nextVersion(before: RuleSet | null, rules: readonly RiskRule[]): RuleSet {
  const version = (before?.version ?? 0) + 1;
  const sinceOf = ({ id, type }: RiskRule): number =>
    before?.rules.find((rule) => rule.id === id && rule.type === type)?.since ?? version;
  return { version, rules: rules.map((rule) => toRule(rule, sinceOf(rule))) };
}

it("the evaluation finds exactly the alerts that the oracle finds, each once, after any takeover", () => {
  fc.assert(
    fc.property(someRules, someMarket, (first, market) => {
      let [now, equityMinor, balanceMinor, netDepositsMinor] = [START_MS, 10_000_00, 10_000_00, 0];
      let set: RuleSet | null = null;
      let state = emptyState();
      const steps: Step[] = [];
      const found: Omit<PastAlert, "valuesAt">[] = [];
      const add = (at: string, alerts: readonly Alert[]): void => {
        for (const { kind, period, rule } of alerts) {
          found.push({ at, ruleId: rule.id, since: rule.since, period, kind });
        }
      };
      for (const [index, step] of market.entries()) {
        now += (step.minutes * HOUR_MS) / 60;
        equityMinor += step.equity + step.deposit;
        balanceMinor += step.balance + step.deposit;
        netDepositsMinor += step.deposit;
        const one = { measuredAtMs: now, equityMinor, balanceMinor, netDepositsMinor };
        if (step.takeover) state = JSON.parse(JSON.stringify(state)) as AccountState;
        const rules: readonly RiskRule[] | null = index === 0 ? first : step.rules;
        if (rules !== null) {
          const next = nextVersion(set, rules);
          steps.push({ rules, seed: one });
          add("rules", activate(state, set, next, ACCOUNT, calendarOf, one));
          set = next;
        }
        steps.push({ at: String(index), values: one });
        if (set !== null) add(String(index), evaluate(state, set, ACCOUNT, calendarOf, one));
      }
      const expected = alertsByWholePast(steps, ACCOUNT).map(({ valuesAt: _valuesAt, ...alert }) => alert);
      expect(found).toEqual(expected);
    }),
    { numRuns: 400 },
  );
});
