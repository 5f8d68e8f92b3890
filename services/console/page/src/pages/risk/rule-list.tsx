import type { RiskRule } from "../../api/shapes.ts";
import { exactPercent } from "../../format.ts";
import { actionInWords, ruleInWords } from "../risk-words.ts";
import { changesOf } from "./rule-drafts.ts";

interface RuleListProps {
  readonly rules: readonly RiskRule[];
  readonly currency: string;
}

/** Rules in words, with their actions. */
export function RuleList({ rules, currency }: RuleListProps) {
  return (
    <ul class="rules">
      {rules.map((rule) => (
        <Rule key={rule.id} rule={rule} currency={currency} />
      ))}
    </ul>
  );
}

function Rule({ rule, currency }: { readonly rule: RiskRule; readonly currency: string }) {
  return (
    <li>
      {ruleInWords(rule, currency)}.
      <span class="under">
        When the limit is reached: {actionInWords(rule.action)}.
        {rule.warnAt === undefined ? "" : ` Warning at ${exactPercent(rule.warnAt)} of the limit.`} Rule{" "}
        <code>{rule.id}</code>
      </span>
    </li>
  );
}

interface RuleChangeListProps {
  readonly before: readonly RiskRule[];
  readonly after: readonly RiskRule[];
  readonly currency: string;
}

/** Lists the rules that a change adds, changes and removes. */
export function RuleChangeList({ before, after, currency }: RuleChangeListProps) {
  const { added, changed, removed } = changesOf(before, after);
  if (added.length + changed.length + removed.length === 0) return <p>No rule changes.</p>;
  return (
    <ul class="rules">
      {removed.map((rule) => (
        <li key={`${rule.type} ${rule.id}`}>
          <strong>Removed:</strong> {ruleInWords(rule, currency)}. Rule <code>{rule.id}</code>
        </li>
      ))}
      {changed.map(({ from, to }) => (
        <li key={`${to.type} ${to.id}`}>
          <strong>Changed:</strong> {whole(to, currency)} Rule <code>{to.id}</code>
          <span class="under">Before: {whole(from, currency)}</span>
        </li>
      ))}
      {added.map((rule) => (
        <li key={`${rule.type} ${rule.id}`}>
          <strong>New:</strong> {whole(rule, currency)} Rule <code>{rule.id}</code>
        </li>
      ))}
    </ul>
  );
}

/** A rule with its action and warning. */
function whole(rule: RiskRule, currency: string): string {
  const warning = rule.warnAt === undefined ? "" : ` Warning at ${exactPercent(rule.warnAt)} of the limit.`;
  return `${ruleInWords(rule, currency)}. ${actionInWords(rule.action)}.${warning}`;
}
