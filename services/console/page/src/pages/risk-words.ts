/** Risk rules, actions at a breach, and parts that evidence lacks, in words for a trader. */
import type { MissingEvidence, RiskAction, RiskLimit, RiskRule } from "../api/shapes.ts";
import { exactPercent, money, zonedMoment } from "../format.ts";

const ACTIONS: Readonly<Record<RiskAction, string>> = {
  notify: "Notifies, and changes nothing",
  close_only: "Lets the account only close positions",
  disable: "Disables the account",
  flatten_and_disable: "Closes all positions and disables the account",
};
const PARTS: Readonly<Record<MissingEvidence["what"], string>> = {
  valuations: "Valuations",
  samples: "Live samples",
  positions: "Open positions",
  prices: "Prices of open positions",
};
const REASONS: Readonly<Record<MissingEvidence["reason"], string>> = {
  expired: "kapi no longer had them when the document was made",
  unavailable: "kapi could not get them",
  limit: "the document would be too large",
};

/** What kapi does at a breach. */
export function actionInWords(action: RiskAction): string {
  return wordsFor(ACTIONS, action);
}

/** The type and the limit of a rule: `Daily loss 5 %`. Amounts are in `currency`. */
export function ruleInShort(rule: RiskRule, currency: string | null): string {
  switch (rule.type) {
    case "dailyLoss":
      return `Daily loss ${limitInWords(rule.limit, currency)}`;
    case "maxLoss":
      return `Maximum loss ${limitInWords(rule.limit, currency)}`;
    case "profitTarget":
      return `Profit target ${limitInWords(rule.target, currency)}`;
    default:
      return (rule satisfies never as RiskRule).type;
  }
}

/** The rule with the value from which its limit counts. Amounts are in `currency`. */
export function ruleInWords(rule: RiskRule, currency: string | null): string {
  const short = ruleInShort(rule, currency);
  switch (rule.type) {
    case "dailyLoss": {
      const basis = rule.basis === "higher" ? "higher of equity and balance" : rule.basis;
      return `${short}${counted(rule.limit)} the ${basis} at ${rule.dayStart} ${rule.timeZone}`;
    }
    case "maxLoss": {
      const start = startInWords(rule.startValue, currency);
      if (rule.trailing === undefined) return `${short}${counted(rule.limit)} ${start}`;
      const lock = rule.lockAt === undefined ? "" : `; the threshold never rises above ${money(rule.lockAt, currency)}`;
      return `${short}${counted(rule.limit)} the highest ${rule.trailing}, which starts at ${start}${lock}`;
    }
    case "profitTarget":
      return `${short}${counted(rule.target)} ${startInWords(rule.startValue, currency)}, reached by the ${rule.basis}`;
    default:
      return short;
  }
}

/** A part that a document lacks, and why. */
export function missingInWords({ what, reason, from, to }: MissingEvidence): string {
  return `${wordsFor(PARTS, what)}${intervalInWords(from, to)}: ${wordsFor(REASONS, reason)}.`;
}

/** The words for a value; the value itself if a later release added it. */
function wordsFor<Value extends string>(words: Readonly<Record<Value, string>>, value: Value): string {
  return (words as Readonly<Record<string, string | undefined>>)[value] ?? value;
}

/**
 * The word between a limit and the value from which it counts: "5 % of the balance", or "500.00 USD
 * from the balance".
 */
function counted({ percent }: RiskLimit): string {
  return percent === undefined ? " from" : " of";
}

function limitInWords({ percent, amount }: RiskLimit, currency: string | null): string {
  return percent === undefined ? money(amount ?? 0, currency) : exactPercent(percent);
}

function startInWords(startValue: number | undefined, currency: string | null): string {
  return startValue === undefined ? "the initial balance" : money(startValue, currency);
}

function intervalInWords(from: string | null, to: string | null): string {
  if (from !== null && to !== null) return ` from ${zonedMoment(from)} to ${zonedMoment(to)}`;
  if (from !== null) return ` after ${zonedMoment(from)}`;
  return to === null ? "" : ` before ${zonedMoment(to)}`;
}
