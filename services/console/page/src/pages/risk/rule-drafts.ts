/** Risk rules while a person edits them: every number is a text. */
import type { Issue, RiskAction, RiskRule } from "../../api/shapes.ts";

/** A rule while it is edited: every field is a text or a choice. */
export interface RuleDraft {
  /** Identifies the rule while it is edited. */
  readonly key: string;
  readonly type: RiskRule["type"];
  readonly id: string;
  readonly limitIn: "percent" | "amount";
  readonly limit: string;
  readonly basis: string;
  readonly timeZone: string;
  readonly dayStart: string;
  /** Whether the loss counts from the highest equity or balance; empty: from the start value. */
  readonly trailing: string;
  /** Empty: the initial balance. */
  readonly startValue: string;
  /** The value above which the threshold never rises; empty: no such value. */
  readonly lockAt: string;
  /** Empty: no warning. */
  readonly warnAt: string;
  readonly action: RiskAction;
}

/** A decimal number, with a point or a comma. The API checks sign, size and decimals. */
const NUMBER = /^-?\d{1,15}(?:[.,]\d{1,15})?$/;
/** A comma before three digits may separate thousands or decimals: 10,000 is not taken as 10. */
const AMBIGUOUS = /,\d{3}$/;

const NEW_RULE: Omit<RuleDraft, "key" | "type" | "id"> = {
  limitIn: "percent",
  limit: "",
  basis: "equity",
  timeZone: "UTC",
  dayStart: "00:00",
  trailing: "",
  startValue: "",
  lockAt: "",
  warnAt: "",
  action: "notify",
};
const NEW_IDS: Readonly<Record<RiskRule["type"], string>> = {
  dailyLoss: "daily-loss",
  maxLoss: "max-loss",
  profitTarget: "profit-target",
};

/** A new rule, with an id that no other rule has. */
export function createDraft(type: RiskRule["type"], others: readonly RuleDraft[]): RuleDraft {
  const ids = new Set(others.map(({ id }) => id));
  let id = NEW_IDS[type];
  for (let number = 2; ids.has(id); number += 1) id = `${NEW_IDS[type]}-${number}`;
  return { ...NEW_RULE, key: crypto.randomUUID(), type, id };
}

/** The draft of an existing rule. */
export function draftOf(rule: RiskRule): RuleDraft {
  const limit = rule.type === "profitTarget" ? rule.target : rule.limit;
  return {
    ...NEW_RULE,
    key: crypto.randomUUID(),
    type: rule.type,
    id: rule.id,
    limitIn: limit.percent === undefined ? "amount" : "percent",
    limit: textOf(limit.percent ?? limit.amount),
    warnAt: textOf(rule.warnAt),
    action: rule.action,
    ...(rule.type === "maxLoss" ? {} : { basis: rule.basis }),
    ...(rule.type === "dailyLoss" ? { timeZone: rule.timeZone, dayStart: rule.dayStart } : {}),
    ...(rule.type === "dailyLoss" ? {} : { startValue: textOf(rule.startValue) }),
    ...(rule.type === "maxLoss" ? { trailing: rule.trailing ?? "", lockAt: textOf(rule.lockAt) } : {}),
  };
}

/**
 * The rules as the API takes them. If the texts of some number fields are not numbers, the issues
 * of these fields instead. The API checks everything else by its schema.
 */
export function rulesOf(
  drafts: readonly RuleDraft[],
): { readonly rules: readonly RiskRule[] } | { readonly issues: readonly Issue[] } {
  const issues: Issue[] = [];
  const rules = drafts.map((draft, index) => {
    const number = (field: "limit" | "startValue" | "lockAt" | "warnAt"): number => {
      const text = draft[field].trim();
      const isAmbiguous = AMBIGUOUS.test(text);
      if (NUMBER.test(text) && !isAmbiguous) return Number(text.replace(",", "."));
      const message = isAmbiguous ? "must be written without a comma" : "must be a number, such as 5 or 2.5";
      issues.push({ path: ["rules", index, field], code: "custom", message });
      return 0;
    };
    const optional = (field: "startValue" | "lockAt" | "warnAt"): Readonly<Record<string, number>> =>
      draft[field].trim() === "" ? {} : { [field]: number(field) };
    const common = { id: draft.id, type: draft.type, action: draft.action, ...optional("warnAt") };
    const limit = { [draft.limitIn]: number("limit") };
    switch (draft.type) {
      case "dailyLoss": {
        const { basis, timeZone, dayStart } = draft;
        return { ...common, limit, basis, timeZone, dayStart };
      }
      case "maxLoss": {
        const trailing = draft.trailing === "" ? {} : { trailing: draft.trailing, ...optional("lockAt") };
        return { ...common, limit, ...trailing, ...optional("startValue") };
      }
      case "profitTarget":
        return { ...common, target: limit, basis: draft.basis, ...optional("startValue") };
    }
  });
  return issues.length > 0 ? { issues } : { rules: rules as readonly RiskRule[] };
}

/** The issue of a field of the rule at `index`, as a sentence; null if there is none. */
export function issueOf(issues: readonly Issue[], index: number, field: string): string | null {
  const found = issues.find(({ path: [list, rule, name] }) => list === "rules" && rule === index && name === field);
  return found === undefined ? null : sentence(found.message);
}

/** Rules that are new, changed and removed. A rule is identified by its id and type. */
export interface RuleChanges {
  readonly added: readonly RiskRule[];
  readonly changed: readonly { readonly from: RiskRule; readonly to: RiskRule }[];
  readonly removed: readonly RiskRule[];
}

/** The differences between two versions of rules. */
export function changesOf(before: readonly RiskRule[], after: readonly RiskRule[]): RuleChanges {
  const find = (rules: readonly RiskRule[], { id, type }: RiskRule): RiskRule | undefined =>
    rules.find((rule) => rule.id === id && rule.type === type);
  return {
    added: after.filter((rule) => find(before, rule) === undefined),
    changed: after.flatMap((to) => {
      const from = find(before, to);
      return from === undefined || isEqual(from, to) ? [] : [{ from, to }];
    }),
    removed: before.filter((rule) => find(after, rule) === undefined),
  };
}

function isEqual(one: RiskRule, other: RiskRule): boolean {
  return sorted(one) === sorted(other);
}

function sorted(rule: RiskRule): string {
  return JSON.stringify(Object.entries(rule).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

function textOf(value: number | undefined): string {
  return value === undefined ? "" : String(value);
}

function sentence(text: string): string {
  const first = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?]$/.test(first) ? first : `${first}.`;
}
