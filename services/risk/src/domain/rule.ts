/** Rules as the evaluation needs them: money in minor units, limits computed exactly. */
import { type RiskAction, type RiskLimit, type RiskRule, percentUnits, PERCENT_DECIMALS } from "@kapi/contracts";
import { assertDefined, minorFromAmount } from "@kapi/kernel";

/** 100 % in units of {@link percentUnits}. */
const WHOLE = BigInt(100 * 10 ** PERCENT_DECIMALS);

/** A limit: a fixed amount in minor units, or a share in units of {@link percentUnits}. */
export type Limit = { readonly amountMinor: number } | { readonly share: number };

interface CommonRule {
  readonly id: string;
  /**
   * The version in which the rule was added. A rule that is removed and added again, or gets
   * another type, is another rule: it can be breached again.
   */
  readonly since: number;
  readonly action: RiskAction;
  readonly limit: Limit;
  /**
   * Share of the limit at which a warning is due, in units of {@link percentUnits}; null: no
   * warning.
   */
  readonly warnShare: number | null;
}

export type Rule = CommonRule &
  (
    | {
        readonly type: "dailyLoss";
        readonly basis: "equity" | "balance" | "higher";
        readonly timeZone: string;
        readonly dayStart: string;
      }
    | {
        readonly type: "maxLoss";
        readonly trailing: "equity" | "balance" | null;
        readonly startMinor: number | null;
        readonly lockAtMinor: number | null;
      }
    | { readonly type: "profitTarget"; readonly basis: "equity" | "balance"; readonly startMinor: number | null }
  );

/** Rules of one account in one version. */
export interface RuleSet {
  readonly version: number;
  readonly rules: readonly Rule[];
}

/** Converts a valid rule of the API. `since`: the version in which the rule was added. */
export function toRule(rule: RiskRule, since: number): Rule {
  const { id, action, type, warnAt } = rule;
  const limit = toLimit(rule.type === "profitTarget" ? rule.target : rule.limit);
  const warnShare = warnAt === undefined ? null : assertDefined(percentUnits(warnAt), "the share of a warning");
  const common = { id, since, action, limit, warnShare };
  switch (type) {
    case "dailyLoss":
      return { ...common, type, basis: rule.basis, timeZone: rule.timeZone, dayStart: rule.dayStart };
    case "maxLoss":
      return {
        ...common,
        type,
        trailing: rule.trailing ?? null,
        startMinor: optionalMinor(rule.startValue),
        lockAtMinor: optionalMinor(rule.lockAt),
      };
    case "profitTarget":
      return { ...common, type, basis: rule.basis, startMinor: optionalMinor(rule.startValue) };
  }
}

/**
 * The limit in minor units for a reference value; null if the reference is not positive and the
 * limit is a share of it: such a rule cannot be breached. A fraction of a minor unit is rounded
 * up, so that a loss below the exact limit is no breach.
 */
export function limitOf(limit: Limit, referenceMinor: number): number | null {
  if ("amountMinor" in limit) return limit.amountMinor;
  return referenceMinor <= 0 ? null : shareOf(referenceMinor, limit.share);
}

/** A share of a positive amount, rounded up to a minor unit. */
export function shareOf(amountMinor: number, share: number): number {
  const product = BigInt(amountMinor) * BigInt(share);
  return Number((product + WHOLE - 1n) / WHOLE);
}

/**
 * Whether two versions of a rule measure from the same reference, so that the reference stays when
 * the rule is changed. All other fields may differ: the limit, its warning, the action, `lockAt`,
 * and the basis of a profit target.
 */
export function sameReference(left: Rule, right: Rule): boolean {
  if (left.type === "dailyLoss" && right.type === "dailyLoss") {
    return left.basis === right.basis && left.timeZone === right.timeZone && left.dayStart === right.dayStart;
  }
  if (left.type === "maxLoss" && right.type === "maxLoss") {
    return left.trailing === right.trailing && left.startMinor === right.startMinor;
  }
  return left.type === "profitTarget" && right.type === "profitTarget" && left.startMinor === right.startMinor;
}

function toLimit({ amount, percent }: RiskLimit): Limit {
  if (amount !== undefined) return { amountMinor: assertDefined(minorFromAmount(amount), "a limit in whole cents") };
  return { share: assertDefined(percentUnits(assertDefined(percent, "percent")), "a percentage") };
}

function optionalMinor(amount: number | undefined): number | null {
  return amount === undefined ? null : assertDefined(minorFromAmount(amount), "an amount in whole cents");
}
